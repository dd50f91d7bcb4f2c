package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

// A person is exported and erased beside the running service: the call that they asked for
// is cancelled, their words and those of the answer are gone from the store, the audit log
// is whole and names them nowhere, and other people's words stay. A copy from before the
// erasure erases anew. Where no service runs, the command works on the store alone.
func TestPersonErased(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			personErased(t, kind)
		})
	}
}

func personErased(t *testing.T, kind string) {
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	s := setup{extra: "facts: {most: 5}\n"}
	var server *redistest.Server
	if kind == "redis" {
		server = startCopied(t)
		s.store = server.URL()
	}
	n := newService(t, w, obedient, s)
	n.start()
	at := w.mention("ada", "remember SECRETWORD")
	n.find(at, "You said: remember SECRETWORD")
	waits := w.mention("ada", "deploy SECRETPLACE now")
	n.ask(waits, `{"env":"SECRETPLACE"}`)
	others := w.mention("bob", "keep OTHERWORD")
	n.find(others, "You said: keep OTHERWORD")
	fact := n.find(w.mention("ada", "remember: SECRETFACT <!channel>"), `Fact 1 of this channel: "SECRETFACT `)
	if strings.Contains(fact.text, "<!channel>") {
		t.Errorf("a fact rings: %s", fact.text)
	}
	n.find(w.mention("bob", "remember: a fact that stays"), "Fact 2 of this channel")
	n.find(w.mention("bob", "remember: SECRETDROPPED"), "Fact 3 of this channel")
	n.find(w.mention("bob", "forget fact 3"), "Fact 3 is forgotten")

	save, restore := n.copySQLite()
	if server != nil {
		save, restore = n.copyRedis(server)
	}
	save()

	if _, lines, _ := n.bot("person", "export", "slack:U0ADA", "--config", n.file); strings.Count(lines, `"kind":"message"`) != 3 || strings.Contains(lines, "OTHERWORD") {
		t.Errorf("the export: %s", lines)
	}
	status, told, errs := n.bot("person", "erase", "slack:U0ADA", "--config", n.file, "--yes")
	if status != 0 || !strings.HasPrefix(told, "erased slack:U0ADA: 3 messages, 2 turns, 0 files, 0 votes, 0 grants, 1 calls that waited, 1 facts\n") {
		t.Fatalf("%d: %s%s", status, told, errs)
	}
	n.find(waits, "Stopped by an operator")
	n.find(waits, "Cancelled")
	n.find(w.mentionIn("ada", at, "hello again"), "You said: hello again")
	_, log, _ := n.bot("audit", "--config", n.file)
	for _, word := range []string{"U0ADA", "SECRET"} {
		if strings.Contains(log, word) && word == "SECRET" || strings.Contains(strings.Split(log, "erased")[0], word) {
			t.Errorf("the audit log says %s:\n%s", word, log)
		}
	}
	n.erased(server)
	if server != nil {
		n.rewritten(server)
	}

	n.stop()
	restore()
	n.start()
	eventually(t, "a restored copy erases anew", func() bool {
		_, lines, _ := n.bot("person", "export", "slack:U0ADA", "--config", n.file)
		return !strings.Contains(lines, "SECRET")
	})
	n.erased(server)
	n.stop()
	if status, told, errs := n.bot("person", "erase", "slack:U0BOB", "--config", n.file, "--yes"); status != 0 || !strings.Contains(told, ": 4 messages") {
		t.Errorf("without a service: %d: %s%s", status, told, errs)
	}
	n.start()
	n.find(w.mentionIn("bob", others, "hello once more"), "You said: hello once more")
}

// erased says that the store has none of the erased words, and all of the others.
func (n *service) erased(server *redistest.Server) {
	n.t.Helper()
	n.verified()
	_, others, _ := n.bot("person", "export", "slack:U0BOB", "--config", n.file)
	if !strings.Contains(others, "OTHERWORD") {
		n.t.Errorf("other people's words are gone: %s", others)
	}
	if server != nil {
		return
	}
	eventually(n.t, "the files hold nothing of what was erased", func() bool {
		all, err := filepath.Glob(filepath.Join(filepath.Dir(n.file), "nod.db*"))
		for _, file := range all {
			raw, errRead := os.ReadFile(file)
			if errRead != nil || bytes.Contains(raw, []byte("SECRET")) {
				return false
			}
		}
		return err == nil
	})
}

// rewritten says that a Redis server's files hold none of the words that were erased or
// forgotten, and the others, once it has written its log anew.
func (n *service) rewritten(server *redistest.Server) {
	n.t.Helper()
	redisCLI(n.t, server, "CONFIG", "SET", "rdbcompression", "no") // so that words stand there as they are
	redisCLI(n.t, server, "BGREWRITEAOF")
	eventually(n.t, "the log of Redis holds nothing of what was erased", func() bool {
		all, err := filepath.Glob(filepath.Join(server.Dir(), "appendonlydir", "*"))
		var log []byte
		for _, file := range all {
			raw, errRead := os.ReadFile(file)
			if log = append(log, raw...); errRead != nil {
				return false // it is taken away
			}
		}
		return err == nil && bytes.Contains(log, []byte("OTHERWORD")) && !bytes.Contains(log, []byte("SECRET"))
	})
}
