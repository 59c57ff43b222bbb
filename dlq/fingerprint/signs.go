package fingerprint

func startsBlank(s string) bool { return s != "" && (s[0] == ' ' || s[0] == '\t') }
