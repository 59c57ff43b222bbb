package problem

import (
	"strconv"

	"dlo/views/components"
)

func status(m Model) string {
	if m.Status == 0 {
		return ""
	}
	return strconv.Itoa(m.Status)
}

// links never leaves a person without a way on.
func links(m Model) []components.Link {
	if len(m.Links) > 0 {
		return m.Links
	}
	if m.Status == 401 {
		return []components.Link{{Text: "Sign in", Href: "/login"}}
	}
	return []components.Link{{Text: "To the cohorts", Href: "/cohorts"}}
}
