package details

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/tools/document"
)

// A table takes little more memory than its text, whatever it is made of.
func TestTablesTakeLittle(t *testing.T) {
	for name, body := range map[string]string{
		"one line of columns":  strings.Repeat(",", 2<<20),
		"columns and rows":     strings.Repeat(",,,,,,,,,,,,,,,\n", 2<<16),
		"one column of quotes": strings.Repeat(`"`, 2<<20),
		"a quote that is open": `a,"` + strings.Repeat("b\n", 1<<20),
		"empty lines":          strings.Repeat("\n", 2<<20) + "a,b",
		"names without end":    strings.Repeat("name,", 2<<18),
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
			if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(len(body)) {
				t.Errorf("%d MB for %d MB", used>>20, len(body)>>20)
			}
		})
	}
}

// The process that reads documents parses tables, and not the bot's own.
func TestTablesAreReadElsewhere(t *testing.T) {
	d := reading{document.NewReader()}
	d.reader.Time = time.Nanosecond
	body := []byte(strings.Repeat(",\n", 2<<20))
	_, err := d.read(t.Context(), chat.File{Name: "a.csv", Size: int64(len(body))}, body)
	if err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("%v: it was read by this process", err)
	}
}
