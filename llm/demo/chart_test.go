package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCharts(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"draw a chart of 3, 5.5 and -2": {"kind": "line", "y": []any{3.0, 5.5, -2.0}},
		"plot it\n[attached: x.csv]\n```\nday,visits\n2026-01-01,3\n2026-01-02,4\n```": {
			"kind": "time", "x": []any{"2026-01-01", "2026-01-02"}, "y": []any{3.0, 4.0}, "x_label": "day", "y_label": "visits",
		},
		"Chart this: \nberlin; 3\nrome; 4.5": {"kind": "bar", "x": []any{"berlin", "rome"}, "y": []any{3.0, 4.5}},
		"draw a chart":                       nil,
		"restart the api, then 3, 4 and 5":   nil,
	} {
		_, got := charts(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
