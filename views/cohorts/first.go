package cohorts

import "github.com/a-h/templ"

// waits asks for the page again until it is another one. 204 changes nothing,
// so a focus or a selection in the command survives.
func waits(f First) templ.Attributes {
	if f.Poll == "" {
		return nil
	}
	return templ.Attributes{
		"hx-get":     f.Poll,
		"hx-trigger": "every 3s",
		"hx-target":  "#main",
		"hx-select":  "#main",
		"hx-swap":    "outerHTML",
	}
}
