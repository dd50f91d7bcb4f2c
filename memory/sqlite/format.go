package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"nod/memory"
)

// format is the file's PRAGMA user_version. It changes with the meaning of a table or
// an entry.
const format = 5

//go:embed tables.sql
var tables string

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// formatOf gives the format of a file, or 0 for an empty one. It refuses a format that
// this build does not read.
func formatOf(ctx context.Context, db querier) (have int, err error) {
	var made int
	const query = "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version"
	if err := db.QueryRowContext(ctx, query).Scan(&have, &made); err != nil {
		return 0, err
	}
	if have == 0 && made > 0 {
		return 0, errors.New("the file is a database of another program")
	}
	return have, memory.CheckFormat(have, format)
}

// prepare refuses a file of another format, and makes the tables of a new one.
func (w *writer) prepare() error {
	if have, err := formatOf(background, w.conn); err != nil || have == format {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	_, err := w.conn.ExecContext(background, tables+fmt.Sprintf("PRAGMA user_version = %d", format))
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make the tables: %w", err), w.rollback())
	}
	return nil
}
