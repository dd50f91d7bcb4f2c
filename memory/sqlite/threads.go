package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"nod/memory"
)

// Threads implements memory.Lister. It leaves out a thread with an unreadable name.
func (r *reader) Threads(ctx context.Context, q memory.ListQuery) ([]memory.Listed, error) {
	if len(q.Platforms) == 0 {
		return nil, nil
	}
	before, name := int64(math.MaxInt64), ""
	if !q.After.Touched.IsZero() {
		before, name = millis(q.After.Touched), q.After.Thread.String()
	}
	query := `SELECT name, touched FROM thread WHERE gone = 0 AND touched >= ? AND touched <= ? AND (touched < ? OR name < ?)
		AND platform IN (?` + strings.Repeat(", ?", len(q.Platforms)-1) + `) ORDER BY touched DESC, name DESC LIMIT ?`
	args := []any{millis(q.Since), before, before, name}
	for _, p := range q.Platforms {
		args = append(args, p)
	}
	found, err := readAll(ctx, r, query, append(args, q.Most), func(rows *sql.Rows) (l memory.Listed, err error) {
		var name string
		var at int64
		if err := rows.Scan(&name, &at); err != nil {
			return l, err
		}
		l.Touched = fromMillis(at)
		_ = l.Thread.UnmarshalText([]byte(name)) // the zero thread is left out below
		return l, nil
	})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	out := found[:0]
	for _, l := range found {
		if l.Thread.Platform != "" {
			out = append(out, l)
		}
	}
	return out, nil
}
