package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"nod/chat/catchup"
	"nod/chat/inbound"
	"nod/chat/retry"
)

// A socketmode.Client keeps one socket. When Slack asks it to connect anew it
// drops the old socket first, so there are several clients, which begin at
// different times and so are refreshed at different times. Slack sends each
// event to any one of the open sockets.

const (
	mostFrame   = 16 << 20 // bytes of one frame
	longBackoff = 30 * time.Second
	mostAtOnce  = 512 // events that are being put
	ackWait     = time.Second
)

// live says which sockets are open.
type live struct {
	mu    sync.Mutex
	open  map[int]time.Time // since when
	begun bool              // the look for what was missed has begun
}

// opened notes an open socket and says whether it is the only one.
func (l *live) opened(n int, at time.Time) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[int]time.Time{}
	}
	first = len(l.open) == 0
	l.open[n] = at
	return first
}

// closed notes a socket that is not open any more, if it was, and says whether it
// was the last, and whether another was open since the time given.
func (l *live) closed(n int, since time.Time) (was, last, covered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, was = l.open[n]
	delete(l.open, n)
	for _, at := range l.open {
		covered = covered || at.Before(since)
	}
	return was, was && len(l.open) == 0, covered
}

func (l *live) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

func (l *live) ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0 && l.begun
}

// connect keeps the n-th socket open. It returns an error for what connecting
// again can't mend.
func (a *Adapter) connect(ctx context.Context, n int) error {
	if retry.Sleep(ctx, time.Duration(n)*a.o.Stagger) != nil {
		return nil
	}
	for pause := time.Second; ; pause = min(2*pause, longBackoff) {
		began := a.o.Now()
		err := a.session(ctx, n)
		switch {
		case ctx.Err() != nil:
			return nil
		case fatalSocket(err):
			return fmt.Errorf("connect to Slack: %w", err)
		}
		inbound.Count(a.o.Observe.Reconnected)
		a.log.Warn("socket replaced", "socket", n, "error", err)
		if a.o.Now().Sub(began) > time.Minute {
			pause = time.Second
		}
		if retry.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// fatalSocket says whether Slack refuses the app-level token.
func fatalSocket(err error) bool {
	var said slackgo.SlackErrorResponse
	return errors.As(err, &said) && slices.Contains(fatalCodes, said.Err)
}

// errSilent ends a session whose socket has said nothing for too long.
var errSilent = errors.New("the socket is silent")

// session runs one client until it gives up or is given up.
func (a *Adapter) session(parent context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	api := slackgo.New("", slackgo.OptionAppLevelToken(a.o.AppToken), slackgo.OptionAPIURL(a.o.APIURL), slackgo.OptionHTTPClient(a.o.HTTP))
	client := socketmode.New(api,
		socketmode.OptionPingInterval(a.o.PingInterval),
		socketmode.OptionReadLimit(mostFrame),
		socketmode.OptionLog(quiet{}))
	ended := make(chan error, 1)
	go func() { ended <- client.RunContext(ctx) }()
	s := &session{a: a, n: n, client: client, cancel: cancel}
	defer func() { s.lost(context.WithoutCancel(parent)) }()
	s.greeting = time.AfterFunc(time.Hour, func() { cancel(errSilent) })
	s.greeting.Stop()
	defer s.greeting.Stop()
	for {
		select {
		case err := <-ended:
			if cause := context.Cause(ctx); cause != nil && parent.Err() == nil {
				return cause
			}
			return err
		case ev := <-client.Events:
			s.heard(ctx, ev)
		}
	}
}

// session is one client at work.
type session struct {
	a        *Adapter
	n        int
	client   *socketmode.Client
	cancel   context.CancelCauseFunc
	greeting *time.Timer // until Slack says hello on a new socket
	told     bool        // Slack said that it would close the socket
}

// silence is for how long a socket may be dead before that is noticed.
func (a *Adapter) silence() time.Duration { return 2 * a.o.PingInterval }

// lost notes that the socket is not open any more. A socket that died was deaf
// for a while before it was found to be, and what Slack sent to it then went
// nowhere, unless another one was open all that time to get it again.
func (s *session) lost(ctx context.Context) {
	was, last, covered := s.a.live.closed(s.n, s.a.o.Now().Add(-s.a.silence()))
	switch {
	case last:
		s.a.remember(ctx) // the next socket looks
	case was && !s.told && !covered:
		s.a.missed(catchup.Gap{Overlap: 2 * s.a.silence()})
	}
}

// heard takes in what the client reports. It must not block for long: the
// client then reads nothing, not even pings.
func (s *session) heard(ctx context.Context, ev socketmode.Event) {
	switch data := ev.Data.(type) {
	case *slackgo.ConnectingEvent:
		s.lost(ctx)
		if data.ConnectionCount > 0 && data.Attempt == 1 {
			inbound.Count(s.a.o.Observe.Reconnected)
		}
	case *socketmode.ConnectedEvent:
		// From here on the client itself watches for pings.
		s.greeting.Reset(2 * s.a.o.PingInterval)
	case *slackgo.ConnectionErrorEvent:
		s.refused(data)
	case *slackgo.IncomingEventError:
		s.a.log.Warn("read a socket", "socket", s.n, "error", data.ErrorObj)
	case *socketmode.ErrorBadMessage:
		s.bad(ctx, data)
	default:
		s.request(ctx, ev)
	}
}

// refused judges a connection that did not come about. The client waits longer
// after each, up to minutes; then it is replaced by one that begins anew.
func (s *session) refused(e *slackgo.ConnectionErrorEvent) {
	s.a.log.Warn("open a socket", "socket", s.n, "attempt", e.Attempt, "error", withoutURL(e.ErrorObj))
	var limited *slackgo.RateLimitedError
	if fatalSocket(e.ErrorObj) || e.Backoff > longBackoff && !errors.As(e.ErrorObj, &limited) {
		s.cancel(e.ErrorObj)
	}
}

func (s *session) request(ctx context.Context, ev socketmode.Event) {
	switch ev.Type {
	case socketmode.EventTypeHello:
		s.greeting.Stop()
		s.told = false
		if s.a.live.opened(s.n, s.a.o.Now()) {
			s.a.missed(catchup.Gap{Overlap: 2 * s.a.silence()})
		}
		s.a.log.Info("socket open", "socket", s.n)
	case socketmode.EventTypeDisconnect:
		s.told = true
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
		if ev.Request != nil {
			r := ev.Request
			s.a.receive(ctx, envelope{Type: r.Type, EnvelopeID: r.EnvelopeID, Payload: r.Payload, RetryAttempt: r.RetryAttempt}, s.ack)
		}
	}
}

// bad takes in a frame that slack-go does not understand, which may only be
// its own opinion: it refuses an event for an odd block in it.
func (s *session) bad(ctx context.Context, e *socketmode.ErrorBadMessage) {
	var env envelope
	if err := json.Unmarshal(e.Message, &env); err != nil || env.EnvelopeID == "" {
		inbound.Count(s.a.o.Observe.Malformed)
		s.a.log.Warn("frame not understood", "socket", s.n)
		return
	}
	s.a.receive(ctx, env, s.ack)
}

// ack tells Slack that an event was received. What can't be told is delivered
// again, and known by then. It does not wait long: a client without a
// connection keeps only so many, and then waits for one.
func (s *session) ack(ctx context.Context, env envelope) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWait)
	defer cancel()
	if err := s.client.AckCtx(ctx, env.EnvelopeID, nil); err != nil {
		s.a.log.Debug("acknowledge", "error", err)
	}
}

// quiet keeps slack-go from writing to standard error, past our own log.
type quiet struct{}

// Output implements slack-go's logger.
func (quiet) Output(int, string) error { return nil }
