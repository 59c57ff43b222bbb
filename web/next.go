package web

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SafeNext gives the place on this site to go to after signing in: what was
// asked for if it is a path here, else "/". A browser reads an address more
// generously than a server ("/\e" and "/<tab>/e" both leave the site), so
// everything that could be read in two ways is refused, as written and after
// one decoding.
func SafeNext(next string) string {
	if len(next) > 2048 || !utf8.ValidString(next) || !strings.HasPrefix(next, "/") {
		return "/"
	}
	path, query, _ := strings.Cut(next, "?")
	decodedPath, err := url.PathUnescape(path)
	if err != nil {
		return "/"
	}
	decodedQuery, err := url.QueryUnescape(query)
	if err != nil {
		return "/"
	}
	if !localPath(path) || !localPath(decodedPath) || !plainText(query) || !plainText(decodedQuery) {
		return "/"
	}
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return "/"
	}
	if page := strings.TrimSuffix(decodedPath, "/"); page == "/login" || page == "/logout" {
		return "/" // signing in must not lead to signing out or in again
	}
	return next
}

// localPath refuses what a browser could take for a host, or resolve to
// another path than the one that was looked at.
func localPath(path string) bool {
	if strings.Contains(path, "//") || strings.Contains(path, `\`) || !plainText(path) {
		return false
	}
	for _, segment := range strings.Split(path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// plainText refuses what a browser strips from an address, or what no reader
// can see.
func plainText(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || hidden(r) || r != ' ' && unicode.IsSpace(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}
