package script

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"nod/agent/run"
	"nod/chat"
)

// Terminal is a platform that a person sits in front of. Run ends with its context.
type Terminal interface {
	run.Platform
	Run(ctx context.Context) error
}

// NewTerminal makes a terminal for ada, which reads what she types from in, and on
// which nobody else writes.
type NewTerminal func(in io.Reader, out io.Writer, inbox run.Inbox) Terminal

// PlayOnTerminal plays the conversation in file in the thread of a terminal, and
// compares all that is written there with its section `terminal`.
func PlayOnTerminal(t *testing.T, file string, make NewTerminal, thread chat.ThreadID, open OpenStore, update bool) {
	t.Helper()
	playFile(t, file, "terminal", open, update, func(p *play) {
		p.console, p.thread = &console{make: make}, thread
	})
}

// console is a terminal that is typed at.
type console struct {
	make NewTerminal
	out  written
	keys *io.PipeWriter
	done chan struct{}
}

// written is what stands on the terminal.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(w.b.String())
}

// start starts the terminal; it ends with ctx.
func (c *console) start(ctx context.Context, p *play) run.Platform {
	in, keys := io.Pipe()
	c.keys, c.done = keys, make(chan struct{})
	term := c.make(in, &c.out, p.inbox)
	go func() {
		defer close(c.done)
		if err := term.Run(ctx); err != nil {
			p.t.Errorf("run the terminal: %v", err)
		}
	}()
	synctest.Wait() // it shows what was said before anything new comes
	return term
}

// stop waits until the terminal has ended.
func (c *console) stop() {
	_ = c.keys.Close() // nothing is typed any more
	<-c.done
}

// types writes a line, or several that are one message.
func (c *console) types(text string) {
	_, _ = io.WriteString(c.keys, strings.ReplaceAll(text, "\n", "\\\n")+"\n") // it ends with the test
}

// vote is the line for a reaction, of NAME EMOJI [TOOL|#NUMBER|answer] [removed]: as
// long as one approval waits it needs no number.
func vote(f []string) string {
	line := f[1]
	if f[len(f)-1] == "removed" {
		line = "take back"
	}
	for _, o := range f[2:] {
		if number, ok := strings.CutPrefix(o, "#"); ok {
			line += " " + number
		}
	}
	return line
}
