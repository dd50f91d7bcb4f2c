package operator

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report writes what was spent from a day on, in one of the ways of the page, as text, csv
// or json. It needs no page that is served. Limits are those of today.
func Report(ctx context.Context, o Options, by, format string, from time.Time, out io.Writer) error {
	p := &Page{o: o}
	now := o.Now().UTC()
	v := spent{By: by, From: from.UTC().Format(time.DateOnly), To: now.Format(time.DateOnly)}
	for left := 1; left > 0; {
		all, more, err := p.ledger.Read(ctx, p.source(), from.UTC().Truncate(24*time.Hour))
		if err != nil {
			return fmt.Errorf("read what was spent: %w", err)
		}
		v.Total, left = spentRow{}, more
		v.Rows = p.rows(&v, all)
	}
	if err := p.limits(ctx, &v, now); err != nil {
		return err
	}
	table := p.table(ctx, v)
	switch format {
	case "csv":
		return csv.NewWriter(out).WriteAll(table)
	case "json":
		return printJSON(table, out)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append(table, p.cells(&v, v.Total, "")) {
		_, _ = fmt.Fprintln(w, strings.Join(row[1:], "\t"))
	}
	return w.Flush()
}

// printJSON writes a list of objects, whose keys are the columns.
func printJSON(table [][]string, out io.Writer) error {
	all := []map[string]any{}
	for _, row := range table[1:] {
		of := map[string]any{}
		for i, column := range table[0] {
			of[column] = row[i]
			if column == "money" || strings.HasPrefix(column, "tokens_") {
				of[column] = json.Number(row[i])
			}
		}
		all = append(all, of)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(all)
}

// table is what was spent, with a line of titles.
func (p *Page) table(ctx context.Context, v spent) [][]string {
	known := p.names(ctx)
	all := [][]string{{"day", v.By, "name", "tokens_in", "tokens_cached", "tokens_out", "money", "limit", "left"}}
	for _, row := range v.Rows {
		all = append(all, p.cells(&v, row, p.called(v.By, row, known)))
	}
	return all
}

// cells are a row of the table.
func (p *Page) cells(v *spent, row spentRow, called string) []string {
	day := v.From
	switch {
	case v.By == "day":
		day = row.Name
	case v.From != v.To:
		day += "/" + v.To
	}
	return []string{
		day, cell(row.Name), cell(called), strconv.Itoa(row.In), strconv.Itoa(row.Cached), strconv.Itoa(row.Out),
		strconv.FormatFloat(row.Cost, 'f', 6, 64), cell(row.Limit), cell(row.Rest),
	}
}

// cell keeps a spreadsheet from taking a name for a formula.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
