package main

import (
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
	})
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bot":       main,
		"mcpserver": mcpServer,
		"bareloop":  bareLoop,
	})
}
