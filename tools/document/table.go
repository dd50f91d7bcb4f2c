package document

import (
	"encoding/csv"
	"strings"
)

// namesMost limits the named columns of a table, and nameMost the bytes of a name.
const (
	namesMost = 100
	nameMost  = 400
)

// Table describes a table.
type Table struct {
	Names   []string // of its first columns, each cut where nobody reads on
	Columns int
	Rows    int // below the names
}

// scanTable counts a table (RFC 4180, with quotes as people write them), and keeps nothing
// but the first names.
func scanTable(text string, comma byte) (t Table) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = rune(comma), true, -1, true
	for {
		fields, err := r.Read()
		if err != nil {
			return t
		}
		if t.Columns > 0 {
			t.Rows++
			continue
		}
		t.Columns = len(fields)
		for _, name := range fields[:min(len(fields), namesMost)] {
			t.Names = append(t.Names, strings.ToValidUTF8(name[:min(len(name), nameMost)], ""))
		}
	}
}
