package entry

// lineClass is the class of a trace's line in app.css.
func lineClass(k LineKind) string {
	return [...]string{"", "library", "key", "raise"}[k]
}
