package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
