package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/catchup"
	"nod/chat/inbound"
	"nod/chat/outbox"
	"nod/chat/retry"
)

// sockets are those of this process over which Slack sends events
// (https://docs.slack.dev/apis/events-api/using-socket-mode). The app-level token gets an
// address; the frames that come over the socket at that address are JSON, and each is
// acknowledged by its id. The sockets begin at different times, so that Slack replaces them
// at different times. Slack sends each event to any one of them. A socket that Slack asks to
// be replaced is read on until it closes.
//
// slack-go's client is not used: that decodes each event three times, refuses an event for
// an odd block in it, drops the old socket before it opens the new one, and does not tell
// why Slack asked.
type sockets struct {
	a       *Adapter
	begun   atomic.Bool  // the look for what was missed has begun
	conns   atomic.Int32 // connections, with those that are being replaced
	reading sync.WaitGroup

	mu   sync.Mutex
	open map[*session]time.Time // those that Slack greeted, since when
}

const (
	mostFrame  = 16 << 20               // bytes of one frame
	firstPause = 100 * time.Millisecond // Slack soon gives up an event while no socket is open
	ackWait    = time.Second
	dialWait   = 20 * time.Second
	lingers    = 15 * time.Second // a socket that is being replaced
)

// run keeps the sockets open until ctx is done. It returns an error that connecting again
// can't mend.
func (k *sockets) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for n := range k.a.o.Sockets {
		g.Go(func() error { return k.connect(ctx, n) })
	}
	return g.Wait()
}

// silence is for how long a socket may be dead before that is noticed.
func (k *sockets) silence() time.Duration { return 2 * k.a.o.PingInterval }

// missed asks for a look at what went nowhere while a socket was dead.
func (k *sockets) missed() { k.a.missed(catchup.Gap{Overlap: 2 * k.silence()}) }

// connect keeps the n-th socket open. It returns an error for what connecting
// again can't mend.
func (k *sockets) connect(ctx context.Context, n int) error {
	if retry.Sleep(ctx, time.Duration(n)*k.a.o.Stagger) != nil {
		return nil
	}
	pause := firstPause
	for {
		greeted, err := k.session(ctx, n)
		var asked *disconnected
		switch {
		case ctx.Err() != nil:
			return nil
		case api.Fatal(err):
			return fmt.Errorf("connect to Slack: %w", err)
		case errors.As(err, &asked) && (asked.reason == "warning" || asked.reason == "refresh_requested"): // another is to take its place
			inbound.Count(k.a.o.Observe.Reconnected)
			k.a.log.Info("socket replaced, as slack asked", "socket", n, "reason", asked.reason)
			continue
		}
		inbound.Count(k.a.o.Observe.Reconnected)
		k.a.log.Warn("socket replaced", "socket", n, "error", chat.WithoutAddress(err))
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
func (k *sockets) session(ctx context.Context, n int) (greeted bool, err error) {
	address := ""
	err = k.a.app.Call(ctx, api.Request{Method: "apps.connections.open", Args: url.Values{}, Priority: outbox.Approval, Answer: &address, Field: "url"})
	if err != nil {
		return false, err
	}
	if k.a.o.Shared != nil { // other processes know of the socket before Slack counts it
		k.a.o.Shared(int(k.conns.Load()) + 1)
	}
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialWait}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
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
func (k *sockets) count(all int) {
	own := int(k.conns.Load())
	if k.a.o.Observe.Sockets != nil {
		k.a.o.Observe.Sockets(own, all)
	}
	k.reading.Go(func() { // nobody reads a socket that waits for the store
		shared := int(k.conns.Load())
		if k.a.o.Shared != nil {
			shared = k.a.o.Shared(shared)
		}
		if all > shared {
			k.a.log.Warn("another program with these tokens takes events from slack, or a connection has just broken", "own", shared, "connections", all)
		}
	})
}

// session is one socket.
type session struct {
	k        *sockets
	n        int
	conn     *websocket.Conn
	mu       sync.Mutex // of writing
	told     bool       // Slack said that it would close the socket
	greeted  atomic.Bool
	greeting *time.Timer // ends a socket that is not greeted
	ended    chan error  // why it is to be replaced
}

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
	s.greeting = time.AfterFunc(s.k.silence(), func() {
		silent.Store(true)
		_ = s.conn.Close()
	})
	defer s.greeting.Stop()
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
		s.frame(ctx, frame)
	}
}

func (s *session) alive() {
	_ = s.conn.SetReadDeadline(time.Now().Add(s.k.a.o.PingInterval)) // a closed socket says so when it is read
}

// frame takes in one frame. It must not block for long: the socket is not read
// meanwhile, not even for pings.
func (s *session) frame(ctx context.Context, raw []byte) {
	a := s.k.a
	env, err := api.ReadEnvelope(raw)
	switch {
	case err != nil:
		inbound.Count(a.o.Observe.Malformed)
		a.log.Warn("frame not understood", "socket", s.n)
	case env.EnvelopeID != "":
		a.receive(ctx, env, func(answer any) { s.ack(env.EnvelopeID, answer) })
	case env.Type == "hello":
		s.greeting.Stop()
		s.greeted.Store(true)
		s.opened()
		s.k.count(env.Connections)
		a.log.Info("socket open", "socket", s.n, "connections", env.Connections, "for_about", time.Duration(env.Debug.Seconds)*time.Second)
	case env.Type == "disconnect" && !s.told: // another takes its place, and this one is read on until Slack closes it
		s.told = true
		time.AfterFunc(lingers, func() { _ = s.conn.Close() })
		s.lost(ctx)
		s.ended <- &disconnected{env.Reason}
	}
}

// opened notes an open socket. Where it is the only one there was a gap.
func (s *session) opened() {
	s.k.mu.Lock()
	first := len(s.k.open) == 0
	s.k.open[s] = s.k.a.o.Now()
	s.k.mu.Unlock()
	if first {
		s.k.missed()
	}
}

// lost notes that the socket is not open any more. A socket that died was deaf
// for a while before it was found to be, and what Slack sent to it then went
// nowhere, unless another one was open all that time to get it again.
func (s *session) lost(ctx context.Context) {
	since := s.k.a.o.Now().Add(-s.k.silence())
	s.k.mu.Lock()
	_, was := s.k.open[s]
	delete(s.k.open, s)
	last, covered := len(s.k.open) == 0, false
	for _, at := range s.k.open {
		covered = covered || at.Before(since)
	}
	s.k.mu.Unlock()
	switch {
	case !was:
	case last:
		s.k.a.Remember(ctx) // the next socket looks
	case !s.told && !covered:
		s.k.missed()
	}
}

// ack tells Slack that an event was received, with an answer to it or nil. Slack delivers
// an event again that it can't be told of.
func (s *session) ack(envelope string, answer any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(ackWait)) // a closed socket says so when it is written
	frame := struct {
		ID      string `json:"envelope_id"`
		Payload any    `json:"payload,omitempty"`
	}{envelope, answer}
	if err := s.conn.WriteJSON(frame); err != nil {
		s.k.a.log.Debug("acknowledge", "error", err)
	}
}
