package probe

import (
	"encoding/json"
	"strings"
)

// at finds the text or number at a JSON pointer (RFC 6901). A number is given
// as it is written. Anything else there, or nothing, is not a version.
func at(value any, pointer string) (string, bool) {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return "", false
			}
			value = next
		case []any:
			i, ok := index(token, len(v))
			if !ok {
				return "", false
			}
			value = v[i]
		default:
			return "", false
		}
	}
	switch v := value.(type) {
	case string:
		return v, strings.TrimSpace(v) != ""
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// index reads a place in an array: digits without a leading zero, below n.
func index(token string, n int) (int, bool) {
	if token == "" || len(token) > 9 || strings.Trim(token, "0123456789") != "" || token[0] == '0' && token != "0" {
		return 0, false
	}
	i := 0
	for _, c := range token {
		i = i*10 + int(c-'0')
	}
	return i, i < n
}
