package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
)

// logger writes to standard error. quiet is the level where none was asked for.
func (c *commands) logger(env Env, quiet slog.Level) *slog.Logger {
	level := quiet
	if c.LogLevel != "" {
		_ = level.UnmarshalText([]byte(c.LogLevel)) // one of the enum
	}
	o := &slog.HandlerOptions{Level: level}
	if level > slog.LevelDebug {
		o.ReplaceAttr = discreet
	}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(env.Err, o))
	}
	return slog.New(slog.NewJSONHandler(env.Err, o))
}

// aside is standard error on the screen of a conversation: a log line becomes a line of
// the screen, and does not overwrite it.
type aside struct {
	io.Writer
	mu   sync.Mutex
	show func(line string) // nil: nothing is drawn
}

// drawn has lines shown by a function from now on; nil ends that.
func (a *aside) drawn(show func(line string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.show = show
}

// Write implements io.Writer.
func (a *aside) Write(b []byte) (int, error) {
	a.mu.Lock()
	show := a.show
	a.mu.Unlock()
	if show == nil {
		return a.Writer.Write(b)
	}
	for line := range bytes.Lines(b) {
		show(string(bytes.TrimRight(line, "\n")))
	}
	return len(b), nil
}
