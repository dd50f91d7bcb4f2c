package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"nod/chat/catchup"
	"nod/chat/inbound"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode): an
// address is asked for with the app-level token, and what comes over the socket at
// it are frames of JSON, each of which is acknowledged by its id. There are
// several sockets, which begin at different times and so are refreshed at
// different times; Slack sends each event to any one of them. One that Slack asks
// to be replaced is read on until it is closed.
//
// slack-go's client is not used: it decodes each event three times, refuses one
// for an odd block in it, drops the old socket before it opens the new one, and
// does not tell why Slack asked.

const (
	mostFrame   = 16 << 20               // bytes of one frame
	firstPause  = 100 * time.Millisecond // what Slack sends while no socket is open it soon gives up
	longBackoff = 30 * time.Second
	mostAtOnce  = 512 // events that are being put
	ackWait     = time.Second
	dialWait    = 20 * time.Second
	lingers     = 15 * time.Second // a socket that is being replaced
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
	pause := firstPause
	for {
		greeted, err := a.session(ctx, n)
		var asked *disconnected
		switch {
		case ctx.Err() != nil:
			return nil
		case fatal(err):
			return fmt.Errorf("connect to Slack: %w", err)
		case errors.As(err, &asked) && asked.refresh():
			inbound.Count(a.o.Observe.Reconnected)
			a.log.Info("socket replaced, as slack asked", "socket", n, "reason", asked.reason)
			continue
		}
		inbound.Count(a.o.Observe.Reconnected)
		a.log.Warn("socket replaced", "socket", n, "error", withoutURL(err))
		if greeted {
			pause = firstPause
		}
		if retry.Sleep(ctx, pause) != nil {
			return nil
		}
		pause = min(2*pause, longBackoff)
	}
}

// disconnected is Slack's word that it closes a socket.
type disconnected struct{ reason string }

func (d *disconnected) Error() string {
	switch d.reason {
	case "link_disabled":
		return "slack closes the socket: Socket Mode is switched off for the app"
	case "too_many_websockets":
		return "slack closes the socket: the app has ten already; other processes use them"
	}
	return "slack closes the socket: " + d.reason
}

// refresh says whether the socket is only to be replaced by another one.
func (d *disconnected) refresh() bool {
	return d.reason == "warning" || d.reason == "refresh_requested"
}

// errSilent ends a session whose socket has said nothing for too long.
var errSilent = errors.New("the socket is silent")

// session opens a socket and reads it, until it ends or is to be replaced. greeted
// says that Slack had said hello on it.
func (a *Adapter) session(ctx context.Context, n int) (greeted bool, err error) {
	var slot struct {
		URL string `json:"url"`
	}
	err = a.app.call(ctx, request{method: "apps.connections.open", args: url.Values{}, priority: outbox.Approval, answer: &slot})
	if err != nil {
		return false, err
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialWait}
	dialling, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	conn, resp, err := dialer.DialContext(dialling, slot.URL, nil)
	if resp != nil {
		defer func() { _ = resp.Body.Close() }()
	}
	if err != nil {
		if resp != nil {
			return false, fmt.Errorf("open a socket: status %d", resp.StatusCode)
		}
		return false, fmt.Errorf("open a socket: %w", withoutURL(err))
	}
	s := &session{a: a, n: n, conn: conn, ended: make(chan error, 2)}
	a.sockets.Go(func() { s.read(ctx) })
	err = <-s.ended
	return s.greeted.Load(), err
}

// session is one socket at work.
type session struct {
	a    *Adapter
	n    int
	conn *websocket.Conn
	mu   sync.Mutex // of writing
	told bool       // Slack said that it would close the socket
	over bool       // it counts as open no more

	greeted atomic.Bool
	ended   chan error // why it is to be replaced
}

// silence is for how long a socket may be dead before that is noticed.
func (a *Adapter) silence() time.Duration { return 2 * a.o.PingInterval }

// read takes in frames until the socket ends.
func (s *session) read(ctx context.Context) {
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	defer func() { _ = s.conn.Close() }()
	s.conn.SetReadLimit(mostFrame)
	s.conn.SetPingHandler(func(data string) error {
		s.alive()
		err := s.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(ackWait))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	var silent atomic.Bool
	greeting := time.AfterFunc(s.a.silence(), func() {
		silent.Store(true)
		_ = s.conn.Close()
	})
	defer greeting.Stop()
	s.alive()
	for {
		_, frame, err := s.conn.ReadMessage()
		if err != nil {
			if silent.Load() {
				err = errSilent
			}
			s.lost(context.WithoutCancel(ctx))
			s.ended <- err
			return
		}
		s.alive()
		s.frame(ctx, frame, greeting)
	}
}

// alive notes that the socket has said something.
func (s *session) alive() {
	_ = s.conn.SetReadDeadline(time.Now().Add(s.a.o.PingInterval)) // a closed socket says so when it is read
}

// remark is what the first frame of a socket, and the last, tell besides.
type remark struct {
	Connections int    `json:"num_connections"`
	Reason      string `json:"reason"`
	Debug       struct {
		Seconds int `json:"approximate_connection_time"`
	} `json:"debug_info"`
}

// frame takes in one frame. It must not block for long: the socket is not read
// meanwhile, not even for pings.
func (s *session) frame(ctx context.Context, raw []byte, greeting *time.Timer) {
	env, err := readEnvelope(raw)
	if err != nil {
		inbound.Count(s.a.o.Observe.Malformed)
		s.a.log.Warn("frame not understood", "socket", s.n)
		return
	}
	var more remark
	switch env.Type {
	case "hello":
		_ = json.Unmarshal(raw, &more) // it is for the log
		greeting.Stop()
		s.greeted.Store(true)
		if s.a.live.opened(s.n, s.a.o.Now()) {
			s.a.missed(catchup.Gap{Overlap: 2 * s.a.silence()})
		}
		s.a.log.Info("socket open", "socket", s.n, "connections", more.Connections, "for_about", time.Duration(more.Debug.Seconds)*time.Second)
	case "disconnect":
		_ = json.Unmarshal(raw, &more)
		s.disconnect(ctx, more.Reason)
	default:
		if env.EnvelopeID != "" {
			s.a.receive(ctx, env, s.ack)
		}
	}
}

// disconnect takes in that Slack will close the socket: another takes its place,
// and this one is read on until then.
func (s *session) disconnect(ctx context.Context, reason string) {
	if s.told {
		return
	}
	s.told = true
	time.AfterFunc(lingers, func() { _ = s.conn.Close() })
	s.lost(ctx)
	s.ended <- &disconnected{reason}
}

// lost notes that the socket is not open any more. A socket that died was deaf
// for a while before it was found to be, and what Slack sent to it then went
// nowhere, unless another one was open all that time to get it again.
func (s *session) lost(ctx context.Context) {
	if s.over {
		return // another has its place
	}
	s.over = true
	was, last, covered := s.a.live.closed(s.n, s.a.o.Now().Add(-s.a.silence()))
	switch {
	case last:
		s.a.remember(ctx) // the next socket looks
	case was && !s.told && !covered:
		s.a.missed(catchup.Gap{Overlap: 2 * s.a.silence()})
	}
}

// ack tells Slack that an event was received. What can't be told is delivered
// again, and known by then.
func (s *session) ack(_ context.Context, env envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(ackWait)) // a closed socket says so when it is written
	frame := struct {
		ID      string `json:"envelope_id"`
		Payload any    `json:"payload,omitempty"`
	}{env.EnvelopeID, env.answer}
	if err := s.conn.WriteJSON(frame); err != nil {
		s.a.log.Debug("acknowledge", "error", err)
	}
}
