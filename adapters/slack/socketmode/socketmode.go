// Package socketmode keeps the sockets open over which Slack sends events
// (https://docs.slack.dev/apis/events-api/using-socket-mode). A [Host] asks for an
// address with the app-level token. The frames that come over the socket at that address
// are JSON, and each is acknowledged by its id. A process has several sockets, which begin
// at different times, so that Slack replaces them at different times. Slack sends each
// event to any one of them. A socket that Slack asks to be replaced is read on until it
// closes.
//
// The package does not use slack-go's client: that decodes each event three times,
// refuses an event for an odd block in it, drops the old socket before it opens the new
// one, and does not tell why Slack asked.
package socketmode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"

	"nod/chat"
	"nod/chat/inbound"
	"nod/chat/retry"
)

// Options set up [Sockets].
type Options struct {
	Sockets      int           // connections of this process
	Stagger      time.Duration // between the first connections
	PingInterval time.Duration // a socket without a ping for so long is replaced
	Logger       *slog.Logger
	Observe      inbound.Observe
	Now          func() time.Time
	// Shared notes the sockets of this process, and gives those of all processes that share
	// the store. It may wait for the store; nil: there is no other process.
	Shared func(own int) (all int)
}

// Host is what a bot does with its sockets. Sockets call it concurrently.
type Host interface {
	// Open asks Slack for the address of a socket.
	Open(ctx context.Context) (address string, err error)
	// Fatal says that connecting again can't mend an error of Open.
	Fatal(err error) bool
	// Frame takes a frame in and says of which type it is. It must not block for long:
	// nobody reads the socket meanwhile, not even for pings.
	Frame(ctx context.Context, raw []byte, ack Ack) (kind string, err error)
	// Missed asks for a look at what was missed, so much further back than was heard.
	Missed(overlap time.Duration)
	// Remember notes how far threads were heard, as no socket is open any more.
	Remember(ctx context.Context)
}

// Ack tells Slack that an event was received, with an answer to it or nil. Slack delivers
// an event again that it can't be told of.
type Ack func(envelope string, answer any)

// Sockets are those of one process.
type Sockets struct {
	o       Options
	host    Host
	live    live
	begun   atomic.Bool  // the look for what was missed has begun
	conns   atomic.Int32 // connections, with those that are being replaced
	reading sync.WaitGroup
}

// New makes Sockets; [Sockets.Run] connects them.
func New(o Options, host Host) *Sockets { return &Sockets{o: o, host: host} }

// Run keeps the sockets open until ctx is done. It returns an error that connecting again
// can't mend.
func (k *Sockets) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for n := range k.o.Sockets {
		g.Go(func() error { return k.connect(ctx, n) })
	}
	return g.Wait()
}

// Wait waits until no socket is read any more.
func (k *Sockets) Wait() { k.reading.Wait() }

// Begin notes that the look for what was missed has begun.
func (k *Sockets) Begin() { k.begun.Store(true) }

// Ready says whether events arrive: a socket is open, and the look for what was missed
// has begun.
func (k *Sockets) Ready() bool {
	k.live.mu.Lock()
	defer k.live.mu.Unlock()
	return len(k.live.open) > 0 && k.begun.Load()
}

const (
	mostFrame   = 16 << 20               // bytes of one frame
	firstPause  = 100 * time.Millisecond // Slack soon gives up an event while no socket is open
	longBackoff = 30 * time.Second
	ackWait     = time.Second
	dialWait    = 20 * time.Second
	lingers     = 15 * time.Second // a socket that is being replaced
)

type live struct {
	mu   sync.Mutex
	open map[int]time.Time // since when
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

// connect keeps the n-th socket open. It returns an error for what connecting
// again can't mend.
func (k *Sockets) connect(ctx context.Context, n int) error {
	if retry.Sleep(ctx, time.Duration(n)*k.o.Stagger) != nil {
		return nil
	}
	pause := firstPause
	for {
		greeted, err := k.session(ctx, n)
		var asked *disconnected
		switch {
		case ctx.Err() != nil:
			return nil
		case k.host.Fatal(err):
			return fmt.Errorf("connect to Slack: %w", err)
		case errors.As(err, &asked) && (asked.reason == "warning" || asked.reason == "refresh_requested"): // another is to take its place
			inbound.Count(k.o.Observe.Reconnected)
			k.o.Logger.Info("socket replaced, as slack asked", "socket", n, "reason", asked.reason)
			continue
		}
		inbound.Count(k.o.Observe.Reconnected)
		k.o.Logger.Warn("socket replaced", "socket", n, "error", chat.WithoutAddress(err))
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

// errSilent ends a session whose socket has said nothing for too long.
var errSilent = errors.New("the socket is silent")

// session opens a socket and reads it, until it ends or is to be replaced. greeted
// says that Slack had said hello on it.
func (k *Sockets) session(ctx context.Context, n int) (greeted bool, err error) {
	address, err := k.host.Open(ctx)
	if err != nil {
		return false, err
	}
	if k.o.Shared != nil { // other processes know of the socket before Slack counts it
		k.o.Shared(int(k.conns.Load()) + 1)
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialWait}
	dialling, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	conn, resp, err := dialer.DialContext(dialling, address, nil)
	if resp != nil {
		defer func() { _ = resp.Body.Close() }()
	}
	if err != nil {
		if resp != nil {
			return false, fmt.Errorf("open a socket: status %d", resp.StatusCode)
		}
		return false, fmt.Errorf("open a socket: %w", chat.WithoutAddress(err))
	}
	s := &session{k: k, n: n, conn: conn, ended: make(chan error, 2)}
	k.conns.Add(1)
	k.reading.Go(func() {
		s.read(ctx)
		k.conns.Add(-1)
		k.count(0)
	})
	err = <-s.ended
	return s.greeted.Load(), err
}

// count tells how many sockets there are; all is Slack's number, or 0.
func (k *Sockets) count(all int) {
	own := int(k.conns.Load())
	if k.o.Observe.Sockets != nil {
		k.o.Observe.Sockets(own, all)
	}
	k.reading.Go(func() { // nobody reads a socket that waits for the store
		shared := int(k.conns.Load())
		if k.o.Shared != nil {
			shared = k.o.Shared(shared)
		}
		if all > shared {
			k.o.Logger.Warn("another program with these tokens takes events from slack, or a connection has just broken", "own", shared, "connections", all)
		}
	})
}

type session struct {
	k    *Sockets
	n    int
	conn *websocket.Conn
	mu   sync.Mutex // of writing
	told bool       // Slack said that it would close the socket
	over bool       // it counts as open no more

	greeted atomic.Bool
	ended   chan error // why it is to be replaced
}

// silence is for how long a socket may be dead before that is noticed.
func (k *Sockets) silence() time.Duration { return 2 * k.o.PingInterval }

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
	greeting := time.AfterFunc(s.k.silence(), func() {
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

func (s *session) alive() {
	_ = s.conn.SetReadDeadline(time.Now().Add(s.k.o.PingInterval)) // a closed socket says so when it is read
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
	kind, err := s.k.host.Frame(ctx, raw, s.ack)
	if err != nil {
		inbound.Count(s.k.o.Observe.Malformed)
		s.k.o.Logger.Warn("frame not understood", "socket", s.n)
		return
	}
	var more remark
	switch kind {
	case "hello":
		_ = json.Unmarshal(raw, &more) // it is for the log and for metrics
		greeting.Stop()
		s.greeted.Store(true)
		if s.k.live.opened(s.n, s.k.o.Now()) {
			s.k.host.Missed(2 * s.k.silence())
		}
		s.k.count(more.Connections)
		s.k.o.Logger.Info("socket open", "socket", s.n, "connections", more.Connections, "for_about", time.Duration(more.Debug.Seconds)*time.Second)
	case "disconnect":
		_ = json.Unmarshal(raw, &more)
		s.disconnect(ctx, more.Reason)
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
	was, last, covered := s.k.live.closed(s.n, s.k.o.Now().Add(-s.k.silence()))
	switch {
	case last:
		s.k.host.Remember(ctx) // the next socket looks
	case was && !s.told && !covered:
		s.k.host.Missed(2 * s.k.silence())
	}
}

func (s *session) ack(envelope string, answer any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(ackWait)) // a closed socket says so when it is written
	frame := struct {
		ID      string `json:"envelope_id"`
		Payload any    `json:"payload,omitempty"`
	}{envelope, answer}
	if err := s.conn.WriteJSON(frame); err != nil {
		s.k.o.Logger.Debug("acknowledge", "error", err)
	}
}
