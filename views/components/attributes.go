package components

import "github.com/a-h/templ"

// Boost gives the attributes that make the links and GET forms inside an
// element replace the region with the given id instead of the page. The same
// URL answers both: htmx picks the region out of the page. Without a script
// they stay ordinary links.
func Boost(region string) templ.Attributes {
	if region == "" {
		return nil
	}
	return templ.Attributes{
		"hx-boost":    "true",
		"hx-target":   "#" + region,
		"hx-select":   "#" + region,
		"hx-swap":     "outerHTML show:none",
		"hx-push-url": "true",
	}
}

// Poll gives the attributes that make an element ask for itself again: from
// url, every so often ("2s"), picking the element of the same id out of the
// answer. An empty url asks for nothing.
func Poll(id, url, every string) templ.Attributes {
	if url == "" {
		return nil
	}
	return templ.Attributes{
		"hx-get":     url,
		"hx-trigger": "every " + every,
		"hx-target":  "#" + id,
		"hx-select":  "#" + id,
		"hx-swap":    "outerHTML show:none",
	}
}

// pressed names the key that presses an element, for the script and for
// screen readers.
func pressed(key string) templ.Attributes {
	if key == "" {
		return nil
	}
	return templ.Attributes{"data-key": key, "aria-keyshortcuts": key}
}
