package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nod/memory"
)

// The format of a file is its PRAGMA user_version. A change of the tables, or of
// what older builds could not go on with, is a new format: a step that brings the
// one before it up to date, and a line below.

//go:embed format2.sql
var format2 string

// step brings a file from one format to the next, inside a transaction.
type step func(m *migration) error

// migrations are the steps from format 1 on.
var migrations = []step{toFormat2, toFormat3}

// Format is the format that this build writes.
var Format = currentFormat(migrations)

func currentFormat(steps []step) int { return 1 + len(steps) }

// firstMade is the format in which new files are made, before the steps that follow.
const firstMade = 2

// migration brings a file up to date.
type migration struct {
	w   *writer
	now time.Time
	log *slog.Logger
}

// run refuses a file of a later format before anything is changed. Each step is a
// transaction with the new number in it, so that a process that is killed goes on
// where it was.
func (m *migration) run(steps []step) error {
	var have, tables int
	for query, into := range map[string]*int{"PRAGMA user_version": &have, "SELECT count(*) FROM sqlite_schema": &tables} {
		if err := m.w.conn.QueryRowContext(background, query).Scan(into); err != nil {
			return err
		}
	}
	reads := currentFormat(steps)
	if have > reads {
		return memory.FormatError{Have: have, Reads: reads}
	}
	fresh := have == 0
	if fresh {
		if tables > 0 {
			return errors.New("the file is a database of another program")
		}
		if err := m.step(firstMade, func(m *migration) error { return m.exec(format2) }); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
		have = firstMade
	}
	if have == reads {
		return nil
	}
	if !fresh {
		m.log.Info("the store is brought up to date", "format", have, "to", reads)
	}
	for to := have + 1; to <= reads; to++ {
		if err := m.step(to, steps[to-2]); err != nil {
			return fmt.Errorf("bring the store to format %d: %w", to, err)
		}
	}
	return nil
}

func (m *migration) step(to int, do step) error {
	if err := m.w.begin(false); err != nil {
		return err
	}
	err := do(m)
	if err == nil {
		err = m.exec(fmt.Sprintf("PRAGMA user_version = %d", to))
	}
	if err == nil {
		err = m.w.commit()
	}
	if err != nil {
		return errors.Join(err, m.w.rollback())
	}
	return nil
}

// exec runs statements that are not worth preparing.
func (m *migration) exec(script string) error {
	_, err := m.w.conn.ExecContext(background, script)
	return err
}

// formatOf gives the format of a file that is only looked at.
func formatOf(ctx context.Context, db *sql.DB) (have int, err error) {
	return have, db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
}
