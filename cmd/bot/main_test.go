package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"nod/internal/crash"
	"nod/internal/parallel"
)

// The program, as somebody types it: every script is a session at a shell.
func TestScripts(t *testing.T) {
	t.Parallel()
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

// points gives those of a list that a walk tries: a third of them, evenly spread; three
// under -short, and all with NOD_LONG=1, as in make long.
func points[T any](all []T) (out []T) {
	for _, n := range crash.Points(len(all), (len(all)+2)/3) {
		out = append(out, all[n-1])
	}
	return out
}

// tests are all of this package. They wait more than they work, so that more of them run
// at a time than there are processors.
type tests struct{ *testing.M }

func (m tests) Run() int {
	parallel.Each(8)
	// A shell starts a command in the background with interrupts ignored. The programs that
	// tests start would inherit that, and wait for theirs for ever.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	defer closeBrowser()
	return m.M.Run()
}

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"bot":       main,
		"mcpserver": mcpServer,
		"bareloop":  bareLoop,
		"sqlite3":   sqliteShell,
	})
}
