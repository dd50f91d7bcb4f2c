package run_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/terminal"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/redistest"
	"nod/internal/script"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

var update = flag.Bool("update", false, "rewrite what the conversations want")

// Every conversation in testdata shows people what it wants to.
func TestConversations(t *testing.T) {
	conversations(t, 1, func(t *testing.T, file, _ string) { script.Play(t, file, openFile, *update) })
}

// days are conversations in which a day goes by. On Redis a process looks around every
// five seconds of it, which takes half a minute.
var days = []string{"idle", "limits", "schedule", "schedule-tool", "schedule-paused", "schedule-others", "schedule-gone", "alert-orders"}

// They do so on Redis too. Under -short every fourth is played there.
func TestConversationsOnRedis(t *testing.T) {
	t.Parallel()
	open := openRedis(t)
	every := 1
	if testing.Short() {
		every = 4
	}
	conversations(t, every, func(t *testing.T, file, name string) {
		if !slices.Contains(days, name) {
			script.Play(t, file, open(name), false)
		}
	})
}

// openRedis starts a server, in which each conversation has keys of its own.
func openRedis(t *testing.T) func(name string) script.OpenStore {
	t.Helper()
	server := redistest.Start(t)
	return func(name string) script.OpenStore {
		return func(ctx context.Context, _ string) (memory.Full, error) {
			bubble := redistest.NewBubble()
			full, err := redis.Open(ctx, server.URL(), redis.Options{Prefix: name, Dial: bubble.Dial})
			return onServer{full, bubble}, err
		}
	}
}

// onServer is a store of which the way to its server can be cut.
type onServer struct {
	memory.Full
	*redistest.Bubble
}

// Conversations of one person are played on a terminal too.
func TestConversationsOnTerminal(t *testing.T) {
	t.Parallel()
	open := []func(name string) script.OpenStore{func(string) script.OpenStore { return openFile }, openRedis(t)}
	conversations(t, 1, func(t *testing.T, file, name string) {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("\n-- terminal --\n")) {
			return
		}
		for i, open := range open {
			script.PlayOnTerminal(t, file, newTerminal, terminal.Thread, open("terminal/"+name), *update && i == 0)
		}
	})
}

func newTerminal(in io.Reader, out io.Writer, inbox run.Inbox) script.Terminal {
	return terminal.New(terminal.Options{
		In: in, Out: out, Inbox: inbox, User: chat.User{Name: "ada"},
		Now: func() time.Time { return time.Now().UTC() },
	})
}

// conversations plays every so manieth of them.
func conversations(t *testing.T, every int, play func(t *testing.T, file, name string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for i, f := range files {
		if i%every != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, f, name)
		})
	}
}

func openFile(ctx context.Context, dir string) (memory.Full, error) {
	return sqlite.Open(ctx, filepath.Join(dir, "nod.db"), sqlite.Options{})
}
