package gallery

import "dlo/views/components"

func componentItems() []Item {
	items := []Item{
		part("chart-day", components.DayChartOf(cohortModel().Arrivals.Chart)),
		part("chart-day-empty", components.DayChartOf(components.DayChart{First: "1 Nov", Last: "29 Nov", Label: "No arrivals", Sentence: "Nothing came in 30 days."})),
		part("chart-level", components.LevelChartOf(components.LevelChart{Values: []int{1240, 1500, 1800, 2100, 2300, 2842}, Ceiling: 6000, CeilingLabel: "ceiling 6,000", First: "1 Sep", Middle: "15 Oct", Last: "29 Nov", Ticks: []components.Tick{{Value: 0, Label: "0"}, {Value: 2000, Label: "2,000"}, {Value: 4000, Label: "4,000"}}, Label: "Stuck over 90 days, from 1,240 to 2,842; ceiling 6,000", Sentence: "Grows by 18 a day: the ceiling is reached in 175 days."})),
		part("chart-bars", components.BarsOf(components.Bars{Label: "Age of what is stuck, by source", Parts: []string{"≤ 1 d", "7 d", "30 d", "90 d", "older"}, Rows: []components.BarRow{{Name: "intranet", Href: "/sources/intranet", Parts: []int{1306, 40, 30, 20, 10}, Total: "1,406"}, {Name: "wiki", Href: "/sources/wiki", Parts: []int{30, 110, 190, 220, 90}, Total: "640"}}})),
		part("text-chips", components.Words(components.Text{{Text: "invoice"}, {Text: "U+202E", Chip: true}, {Text: "fdp.exe <script>alert(1)</script>"}})),
		part("markdown", components.Rendered(components.Markdown{SanitisedHTML: "<p>Ask <em>the vendor</em> first.</p>"})),
		part("action-off", components.ActionLink(components.Action{Label: "Redrive", Disabled: true, Why: "It is in flight already."})),
		part("fresh-none", components.FreshPill(components.Fresh{Poll: "/cohorts/fresh"})),
	}
	for tone := components.Plain; tone <= components.CodeChanged; tone++ {
		items = append(items, part("tag-"+tagName(tone), components.TagOf(components.Tag{Text: tone.Class(), Tone: tone})))
	}
	return items
}

func tagName(t components.Tone) string {
	switch t {
	case components.DocChanged:
		return "doc-changed"
	case components.CodeChanged:
		return "code-changed"
	}
	return t.Class()
}
