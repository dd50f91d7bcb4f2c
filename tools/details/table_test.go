package details

import (
	"encoding/csv"
	"runtime"
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
			if got.columns != 0 {
				t.Fatalf("%q: %+v", text, got)
			}
			return
		}
		if got.columns != len(all[0]) || got.rows != len(all)-1 {
			t.Fatalf("%q: %d columns and %d rows, want %d and %d", text, got.columns, got.rows, len(all[0]), len(all)-1)
		}
		for i := range all[0] { // it keeps line ends within quotes as they are
			all[0][i] = strings.ReplaceAll(all[0][i], "\r", "")
			got.names[i] = strings.ReplaceAll(got.names[i], "\r", "")
		}
		if d := cmp.Diff(all[0], got.names); d != "" {
			t.Fatalf("%q: %s", text, d)
		}
	})
}

// A table takes little more memory than its text, whatever it is made of.
func TestTablesTakeLittle(t *testing.T) {
	for name, body := range map[string]string{
		"one line of columns":  strings.Repeat(",", 8<<20),
		"columns and rows":     strings.Repeat(",,,,,,,,,,,,,,,\n", 8<<16),
		"one column of quotes": strings.Repeat(`"`, 8<<20),
		"a quote that is open": `a,"` + strings.Repeat("b\n", 4<<20),
		"empty lines":          strings.Repeat("\n", 8<<20) + "a,b",
		"names without end":    strings.Repeat("name,", 8<<18),
	} {
		t.Run(name, func(t *testing.T) {
			call := detailsOf(t, kept{"a.csv", "text/csv", []byte(body)})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			got, err := call(`{"artifact":"a.csv"}`)
			runtime.ReadMemStats(&after)
			if err != nil || got.Failed || len(got.Text) > 8<<10 {
				t.Fatalf("%v: %.300s", err, got.Text)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 4*8<<20 {
				t.Errorf("%d MB for %d MB", used>>20, len(body)>>20)
			}
		})
	}
}
