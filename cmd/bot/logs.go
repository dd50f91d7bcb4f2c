package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"sync"

	"nod/cmd/bot/config"
	"nod/llm"
	"nod/mask"
)

// logger writes to standard error. quiet is the level where none was asked for.
func (c *commands) logger(env Env, quiet slog.Leveler) *slog.Logger {
	level := quiet
	if c.LogLevel != "" {
		var asked slog.Level
		_ = asked.UnmarshalText([]byte(c.LogLevel)) // one of the enum
		level = asked
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Value.Kind() == slog.KindDuration:
			return slog.String(a.Key, a.Value.Duration().String())
		case level.Level() > slog.LevelDebug:
			return discreet(a)
		}
		return a
	}}
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

// newMask knows the file's secrets, and variables of commands that are secret.
func newMask(cfg *config.Config) *mask.Mask {
	values := cfg.Secrets()
	for _, c := range cfg.Tools.Commands {
		for _, name := range c.Env {
			if value := os.Getenv(name); config.IsSecret(name, value) {
				values = append(values, value)
			}
		}
	}
	for _, e := range cfg.Endpoints() {
		if u, err := url.Parse(e.BaseURL); err == nil { // some want a key in it
			for _, v := range u.Query() {
				values = append(values, v...)
			}
		}
	}
	return mask.New(values...)
}

// masked is a log that holds no secret.
func masked(log *slog.Logger, m *mask.Mask) *slog.Logger { return slog.New(m.Handler(log.Handler())) }

// discreet logs a failed model call by its fault, its status and the provider's code. The
// provider's own words often repeat the prompt.
func discreet(a slog.Attr) slog.Attr {
	err, ok := a.Value.Any().(error)
	var fault *llm.Error
	if !ok || !errors.As(err, &fault) {
		return a
	}
	words := "model " + string(fault.Fault)
	switch {
	case fault.Status != 0 && fault.Code != "":
		words += fmt.Sprintf(" (status %d, %s)", fault.Status, fault.Code)
	case fault.Where != "":
		words += fmt.Sprintf(" (status %d at %s)", fault.Status, fault.Where)
	case fault.Status != 0:
		words += fmt.Sprintf(" (status %d)", fault.Status)
	}
	return slog.String(a.Key, words)
}

// maskedModel sees no secret: a person may have pasted one, and a model can't repeat an
// unread text.
type maskedModel struct {
	llm.Model
	m *mask.Mask
}

// Complete implements llm.Model.
func (d maskedModel) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	messages := make([]llm.Message, 0, len(req.Messages))
	for _, msg := range req.Messages {
		msg.Text = d.m.Text(msg.Text)
		calls := make([]llm.Call, 0, len(msg.Calls))
		for _, c := range msg.Calls {
			c.Args = d.m.Text(c.Args)
			calls = append(calls, c)
		}
		msg.Calls = calls
		messages = append(messages, msg)
	}
	req.Messages = messages
	r, err := d.Model.Complete(ctx, req, watch)
	var fault *llm.Error
	if errors.As(err, &fault) && d.m.Text(fault.Message) != fault.Message {
		said := *fault // shown to people
		said.Message = d.m.Text(said.Message)
		err = &said
	}
	r.Text, r.Reasoning = d.m.Text(r.Text), d.m.Text(r.Reasoning)
	return r, err
}
