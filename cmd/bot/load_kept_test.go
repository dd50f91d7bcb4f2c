package main

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite" // the driver, as the store's
)

// diary is what the loop that forgets nothing writes into: a file that a power cut
// takes nothing from. What waits meanwhile goes into one transaction.
type diary struct {
	more                  chan diaryEntry
	begin, insert, commit *sql.Stmt
}

type diaryEntry struct {
	key, text string
	done      chan error
}

func openDiary(file string) (*diary, error) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-8192)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "CREATE TABLE diary (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, text TEXT NOT NULL)"); err != nil {
		return nil, err
	}
	d := &diary{more: make(chan diaryEntry, 256)}
	for query, stmt := range map[string]**sql.Stmt{"BEGIN IMMEDIATE": &d.begin, "INSERT INTO diary (key, text) VALUES (?, ?)": &d.insert, "COMMIT": &d.commit} {
		if *stmt, err = conn.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
	}
	go d.write()
	return d, nil
}

// keep writes and waits until it is on the disk. Without a diary nothing is kept.
func (d *diary) keep(key, text string) error {
	if d == nil {
		return nil
	}
	e := diaryEntry{key, text, make(chan error, 1)}
	d.more <- e
	return <-e.done
}

func (d *diary) write() {
	for first := range d.more {
		batch := []diaryEntry{first}
		for range len(d.more) {
			batch = append(batch, <-d.more)
		}
		err := d.commitAll(batch)
		for _, e := range batch {
			e.done <- err
		}
	}
}

func (d *diary) commitAll(batch []diaryEntry) error {
	if _, err := d.begin.Exec(); err != nil {
		return err
	}
	for _, e := range batch {
		if _, err := d.insert.Exec(e.key, e.text); err != nil {
			return err
		}
	}
	_, err := d.commit.Exec()
	return err
}
