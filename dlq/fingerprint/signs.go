package fingerprint

import "strings"

func holdsSign(line string, signs []string) bool {
	for _, sign := range signs {
		if strings.Contains(line, sign) {
			return true
		}
	}
	return false
}

func startsWithAny(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func startsBlank(s string) bool { return s != "" && (s[0] == ' ' || s[0] == '\t') }
