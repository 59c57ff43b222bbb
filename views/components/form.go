package components

import (
	"strconv"

	"github.com/a-h/templ"
)

// inputID is the id of a field: unique as long as the form's id is.
func inputID(form, name string) string { return form + "-" + name }

func optionID(form, name string, i int) string {
	return inputID(form, name) + "-" + strconv.Itoa(i)
}

func inputType(k InputKind) string {
	switch k {
	case InputEmail:
		return "email"
	case InputPassword:
		return "password"
	case InputNumber:
		return "number"
	case InputDate:
		return "date"
	}
	return "text"
}

// described ties a field to its hint and its error, so that both are read out
// with it.
func described(form string, in Input) templ.Attributes {
	attrs := templ.Attributes{}
	id := inputID(form, in.Name)
	switch {
	case in.Hint != "" && in.Error != "":
		attrs["aria-describedby"] = id + "-hint " + id + "-error"
	case in.Hint != "":
		attrs["aria-describedby"] = id + "-hint"
	case in.Error != "":
		attrs["aria-describedby"] = id + "-error"
	}
	if in.Error != "" {
		attrs["aria-invalid"] = "true"
	}
	return attrs
}

// firstHref is where the bar's form goes when Enter submits it without a
// button: to the first action that can be done.
func firstHref(actions []Action) string {
	for _, a := range actions {
		if !a.Disabled {
			return a.Href
		}
	}
	return ""
}

// areaRows is the height of an area, in lines.
func areaRows(in Input) string {
	if in.Rows == 0 {
		return "3"
	}
	return strconv.Itoa(in.Rows)
}
