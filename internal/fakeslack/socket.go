package fakeslack

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// maxSockets is how many sockets an app may have open at a time.
const maxSockets = 10

// Reasons of a disconnect frame
// (https://docs.slack.dev/apis/events-api/using-socket-mode).
const (
	RefreshRequested  = "refresh_requested"
	Warning           = "warning"
	LinkDisabled      = "link_disabled"
	TooManyWebsockets = "too_many_websockets"
)

// socket is one connection of the app. Its fields are guarded by the server's
// lock, but for ws, which one goroutine writes to and one reads from.
type socket struct {
	s    *Server
	ws   *websocket.Conn
	wake chan struct{}
	gone chan struct{}
	once sync.Once

	queue  [][]byte
	live   bool // gets events
	frozen bool // nothing gets through, in either direction
	pings  int  // without a pong since
}

// openConnection gives a URL that is good for one connection.
func openConnection(s *Server, _ *call) (reply, error) {
	ticket := s.uuid()
	s.wire.tickets[ticket] = true
	return reply{"url": "ws" + s.base[len("http"):] + "/link/?ticket=" + ticket + "&app_id=" + App}, nil
}

// admitSocket checks the ticket and whether the plan lets a socket in.
func (s *Server) admitSocket(ticket string) int {
	defer s.change()()
	switch {
	case !s.wire.tickets[ticket]:
		return http.StatusForbidden
	case s.wire.closedDoor > 0:
		s.wire.closedDoor--
		return http.StatusServiceUnavailable
	case s.closed:
		return http.StatusServiceUnavailable
	}
	delete(s.wire.tickets, ticket)
	s.running.Add(2) // the reader and the writer
	return 0
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if status := s.admitSocket(r.URL.Query().Get("ticket")); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		s.running.Add(-2)
		return // the upgrader has answered
	}
	c := &socket{s: s, ws: ws, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	ws.SetPongHandler(func(string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.pings = 0
		return nil
	})
	go c.write()
	s.enlist(c)
	c.read()
}

// enlist greets a socket and gives it its share of the events.
func (s *Server) enlist(c *socket) {
	defer s.change()()
	if s.closed {
		c.cut()
		return
	}
	open := s.liveSockets()
	s.wire.sockets = append(s.wire.sockets, c)
	if len(open) >= maxSockets {
		s.violate("socket", "more than 10 sockets at once")
		c.disconnect(TooManyWebsockets)
		return
	}
	c.live = true
	if s.wire.silent > 0 {
		s.wire.silent--
		return
	}
	c.pushJSON(reply{
		"type": "hello", "num_connections": len(open) + 1, "connection_info": reply{"app_id": App},
		"debug_info": reply{"host": "applink-fake", "build_number": 1, "approximate_connection_time": 18060},
	})
	s.online()
}

func (s *Server) liveSockets() []*socket {
	var out []*socket
	for _, c := range s.wire.sockets {
		if c.live {
			out = append(out, c)
		}
	}
	return out
}

// pick gives an arbitrary live socket, or nil. A frozen one counts as live
// until its missing pongs are noticed.
func (s *Server) pick() *socket {
	live := s.liveSockets()
	if len(live) == 0 {
		return nil
	}
	return live[s.rand.IntN(len(live))]
}

// push queues a frame; the writer sends it.
func (c *socket) push(frame []byte) {
	c.queue = append(c.queue, frame)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *socket) pushJSON(v reply) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("fakeslack: marshal frame: " + err.Error()) // made of JSON values only
	}
	c.push(raw)
}

// disconnect tells the app that the socket ends. Nothing more is sent over it,
// and after a while it is closed from this side. A warning only announces that.
func (c *socket) disconnect(reason string) {
	c.pushJSON(reply{"type": "disconnect", "reason": reason, "debug_info": reply{"host": "applink-fake"}})
	if reason == Warning {
		return
	}
	c.live = false
	c.s.after(c.s.opt.AckTimeout, c.cut)
}

// cut ends the connection without a word.
func (c *socket) cut() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.ws.NetConn().Close()
	})
}

// read takes acks until the connection ends.
func (c *socket) read() {
	defer c.s.running.Done()
	for {
		_, frame, err := c.ws.ReadMessage()
		c.s.mu.Lock()
		frozen := c.frozen
		c.s.mu.Unlock()
		if frozen {
			<-c.gone
		}
		if err != nil || frozen {
			break
		}
		c.s.ack(frame)
	}
	defer c.s.change()()
	c.live = false
	c.s.wire.sockets = slices.DeleteFunc(c.s.wire.sockets, func(o *socket) bool { return o == c })
	c.cut()
}

// writeWait bounds how long a frame may take to be written.
const writeWait = 10 * time.Second

// write sends what is queued, and pings.
func (c *socket) write() {
	defer c.s.running.Done()
	defer c.cut()
	ping := time.NewTicker(c.s.opt.PingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-c.gone:
			return
		case <-ping.C:
			if c.pingDue() {
				err = c.ws.WriteControl(websocket.PingMessage, []byte("Ping from applink-fake"), time.Now().Add(writeWait))
			}
		case <-c.wake:
			err = c.flush()
		}
		if err != nil {
			return
		}
	}
}

func (c *socket) flush() error {
	c.s.mu.Lock()
	frames := c.queue
	c.queue = nil
	if c.frozen {
		frames = nil
	}
	c.s.mu.Unlock()
	for _, f := range frames {
		if err := c.ws.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
			return err
		}
		if err := c.ws.WriteMessage(websocket.TextMessage, f); err != nil {
			return err
		}
	}
	return nil
}

// maxPings is how many pings may go unanswered.
const maxPings = 3

// pingDue says whether to ping. A socket that answers no pings gets no more
// events; a frozen one stays open all the same.
func (c *socket) pingDue() bool {
	defer c.s.change()()
	if c.pings++; c.pings > maxPings {
		c.live = false
		if !c.frozen {
			go c.cut()
		}
	}
	return !c.frozen
}

// Sockets is how many sockets get events.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.liveSockets())
}

// some gives the first n live sockets; all of them where n is 0.
func (s *Server) some(n int) []*socket {
	live := s.liveSockets()
	if n > 0 && n < len(live) {
		live = live[:n]
	}
	return live
}

// CutSockets closes n sockets (0: all) abruptly.
func (s *Server) CutSockets(n int) {
	defer s.change()()
	for _, c := range s.some(n) {
		c.live = false
		c.cut()
	}
}

// FreezeSockets makes n sockets (0: all) half-open: the TCP connection stays,
// but nothing is read or written any more, as after a network that vanished.
// They get events, in vain, until their missing pongs are noticed.
func (s *Server) FreezeSockets(n int) {
	defer s.change()()
	for _, c := range s.some(n) {
		c.frozen = true
	}
}

// Disconnect sends n sockets (0: all) a disconnect frame with one of the
// reasons.
func (s *Server) Disconnect(n int, reason string) {
	defer s.change()()
	for _, c := range s.some(n) {
		c.disconnect(reason)
	}
}

// WithholdHello lets the next n sockets connect without a hello. They get
// events all the same.
func (s *Server) WithholdHello(n int) {
	defer s.change()()
	s.wire.silent = n
}

// RefuseSockets has the next n handshakes fail with status 503.
func (s *Server) RefuseSockets(n int) {
	defer s.change()()
	s.wire.closedDoor = n
}
