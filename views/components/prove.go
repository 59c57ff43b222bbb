package components

func stepClass(s StepState) string {
	return [...]string{"planned", "running", "passed", "failed", "mixed"}[s]
}

func stepWord(s StepState) string {
	return [...]string{"not sent yet", "in flight", "passed", "failed", "settled, some failed"}[s]
}
