package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The program, as somebody types it: every script is a session at a shell.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			e.Setenv("USER", "ada")
			// For scripts that do without PATH.
			e.Setenv("BOT", filepath.Join(filepath.SplitList(e.Getenv("PATH"))[0], "bot"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"format": setFormat},
	})
}

// setFormat gives a SQLite file another format: format FILE NUMBER.
func setFormat(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), "PRAGMA user_version = "+args[1])
	ts.Check(errors.Join(err, db.Close()))
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bot":       main,
		"mcpserver": mcpServer,
		"bareloop":  bareLoop,
	})
}
