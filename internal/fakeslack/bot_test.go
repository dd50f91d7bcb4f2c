package fakeslack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// bot is an app made of slack-go alone: it keeps every envelope that reaches
// it and acknowledges those that ack wants.
type bot struct {
	*slack.Client
	t *testing.T

	mu    sync.Mutex
	seen  []socketmode.Event
	fresh chan struct{}
}

// heard is what a test looks at in an envelope.
type heard struct {
	Attempt int
	Reason  string
	EventID string `json:"event_id"`
	Time    int64  `json:"event_time"`
	Type    string // of an interaction
	Trigger string `json:"trigger_id"`
	Event   event
}

type event struct {
	Type, Subtype, User, Text, TS, Channel, Reaction, Tab string
	BotID                                                 string `json:"bot_id"`
	AppID                                                 string `json:"app_id"`
	ChannelType                                           string `json:"channel_type"`
	ThreadTS                                              string `json:"thread_ts"`
	EventTS                                               string `json:"event_ts"`
	ItemUser                                              string `json:"item_user"`
	ClientMsgID                                           string `json:"client_msg_id"`
	DeletedTS                                             string `json:"deleted_ts"`
	Message, Previous                                     *event
	Edited                                                *struct{ User, TS string }
	Item                                                  struct{ Type, Channel, TS string }
	Files                                                 []struct{ Name, Mimetype string }
}

func api(s *Server) *slack.Client {
	return slack.New(s.BotToken(), slack.OptionAppLevelToken(s.AppToken()), slack.OptionAPIURL(s.APIURL()))
}

// connect starts n sockets and waits until all get events. ack may be nil: all.
func connect(t *testing.T, s *Server, n int, ack func(socketmode.Event) bool, o ...socketmode.Option) *bot {
	t.Helper()
	b := &bot{Client: api(s), t: t, fresh: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	before := s.Sockets()
	for range n {
		o := append([]socketmode.Option{socketmode.OptionLog(log.New(io.Discard, "", 0))}, o...)
		c := socketmode.New(b.Client, o...)
		running.Go(func() { _ = c.RunContext(ctx) }) // it ends with the test
		running.Go(func() { b.listen(ctx, c, ack) })
	}
	waitFor(t, s, func(s *Server) bool { return s.Sockets() == before+n })
	return b
}

func (b *bot) listen(ctx context.Context, c *socketmode.Client, ack func(socketmode.Event) bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-c.Events:
			b.mu.Lock()
			b.seen = append(b.seen, e)
			close(b.fresh)
			b.fresh = make(chan struct{})
			b.mu.Unlock()
			if e.Request != nil && e.Request.EnvelopeID != "" && (ack == nil || ack(e)) {
				if err := c.AckCtx(ctx, e.Request.EnvelopeID, nil); err != nil && ctx.Err() == nil {
					b.t.Errorf("ack: %v", err)
				}
			}
		}
	}
}

func (b *bot) events() []socketmode.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]socketmode.Event(nil), b.seen...)
}

// heard gives the events of the Events API of a type, or all.
func (b *bot) heard(kind string) []heard {
	var out []heard
	for _, e := range b.events() {
		if e.Request == nil || len(e.Request.Payload) == 0 {
			continue
		}
		h := heard{Attempt: e.Request.RetryAttempt, Reason: e.Request.RetryReason}
		if err := json.Unmarshal(e.Request.Payload, &h); err != nil {
			b.t.Errorf("read payload: %v", err)
		}
		if kind == "" || h.Event.Type == kind || h.Type == kind {
			out = append(out, h)
		}
	}
	return out
}

// await waits until the bot has heard something that satisfies the condition.
func (b *bot) await(holds func() bool) {
	b.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		b.mu.Lock()
		fresh := b.fresh
		b.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-fresh:
		case <-deadline:
			b.t.Fatalf("waited in vain; heard %+v", b.heard(""))
		}
	}
}

// next waits for n events of a type, and gives the last.
func (b *bot) next(kind string, n int) heard {
	b.t.Helper()
	b.await(func() bool { return len(b.heard(kind)) >= n })
	return b.heard(kind)[n-1]
}

// saw waits for n signals of the socketmode client, such as connected.
func (b *bot) saw(kind socketmode.EventType, n int) {
	b.t.Helper()
	b.await(func() bool {
		found := 0
		for _, e := range b.events() {
			if e.Type == kind {
				found++
			}
		}
		return found >= n
	})
}

func waitFor(t *testing.T, s *Server, holds func(*Server) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := s.WaitFor(ctx, holds); err != nil {
		t.Fatal(err)
	}
}

// wants fails unless the error is Slack's with that code; none where empty.
func wants(t *testing.T, err error, code string) {
	t.Helper()
	var se slack.SlackErrorResponse
	switch {
	case code == "" && err == nil:
	case code == "" || !errors.As(err, &se) || se.Err != code:
		t.Errorf("got error %v, want %q", err, code)
	}
}

// must stops the test at an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
