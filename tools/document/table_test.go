package document

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What is counted is what encoding/csv would read.
func TestScanTable(t *testing.T) {
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", ",", ",", "\n", "\n", "\r\n", `"`, `"`, `""`, ";", " "}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(pieces.Draw(t, "pieces"), "")
		r := csv.NewReader(strings.NewReader(text))
		r.LazyQuotes, r.FieldsPerRecord = true, -1
		all, err := r.ReadAll()
		if err != nil {
			t.Skip(err)
		}
		got := scanTable(text, ',')
		if len(all) == 0 {
			if got.Columns != 0 {
				t.Fatalf("%q: %+v", text, got)
			}
			return
		}
		if got.Columns != len(all[0]) || got.Rows != len(all)-1 {
			t.Fatalf("%q: %d columns and %d rows, want %d and %d", text, got.Columns, got.Rows, len(all[0]), len(all)-1)
		}
		for i := range all[0] { // it keeps line ends within quotes as they are
			all[0][i] = strings.ReplaceAll(all[0][i], "\r", "")
			got.Names[i] = strings.ReplaceAll(got.Names[i], "\r", "")
		}
		if d := cmp.Diff(all[0], got.Names); d != "" {
			t.Fatalf("%q: %s", text, d)
		}
	})
}

// A table of any form is told of in few bytes, through the process that reads it.
func TestReadTable(t *testing.T) {
	r := patient()
	long := strings.Repeat("é", 1<<20)
	for body, want := range map[string]Table{
		"a;b\n1;2,5\n3;4\n":           {Names: []string{"a", "b"}, Columns: 2, Rows: 2},
		long + ";" + `"` + long + `"`: {Names: []string{strings.Repeat("é", nameMost/2), strings.Repeat("é", nameMost/2)}, Columns: 2},
		"":                            {},
	} {
		got, err := r.Read(t.Context(), Source{Kind: CSV, Comma: ';'}, []byte(body))
		if d := cmp.Diff(want, got.Table); err != nil || d != "" || got.Text != "" {
			t.Errorf("%.20q: %v, %d bytes of text, %s", body, err, len(got.Text), d)
		}
	}
}
