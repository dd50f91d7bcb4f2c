package fakediscord

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// The Gateway's own limits: sends of one connection in a minute, the size of a
// payload, identifies of a day, and the time between two of one bucket. See
// https://discord.com/developers/docs/events/gateway#rate-limiting
const (
	sendsPerMinute  = 120
	largestPayload  = 4096
	identifiesADay  = 1000
	betweenIdentify = 5 * time.Second
	compressFrom    = 1024 // bytes; where Discord begins to compress is not documented
)

// gateway is the state of the Gateway. The server's lock guards it.
type gateway struct {
	sessions     map[string]*session
	sessionOrder []string
	connections  []*Connection
	identified   time.Time // when somebody last did
	stats        Stats

	reconnects   int  // connections that get op 7 in place of HELLO
	resumeClose  int  // the code with which every resume is answered
	resumeSilent bool // no resume is answered

	sessionsLeft    allowance
	identifySilent  bool // nobody who begins a session is answered
	identifyRefused int  // so many who begin a session are told that they may not
	identifyWaiting []func()

	guildsLater bool // GUILD_CREATE comes when a test says so
	laterGuilds []func()
	duplicates  int
	holding     int
	held        []event
	twist       func(kind string, data map[string]any)
}

// Stats counts the bots' actions at the Gateway.
type Stats struct {
	Connects   int   // connections accepted
	Identifies int   // sessions begun
	Resumes    int   // sessions resumed
	Refused    int   // resumes and identifies answered with op 9
	Unanswered int   // identifies that were ignored, for now at least
	ByResume   int   // connections to the address that READY gave for resuming
	Beats      int   // heartbeats
	Blind      int   // heartbeats of resuming connections without the last sequence
	Closes     []int // the codes with which bots closed; 1006 for none
}

// Gateway gives the counts so far.
func (s *Server) Gateway() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Closes = slices.Clone(out.Closes)
	return out
}

func (s *Server) socket(path string) string { return "ws" + s.base[len("http"):] + path }

// Connection is a bot's connection to the Gateway. Its methods make it fail.
type Connection struct {
	server  *Server
	ws      *websocket.Conn
	version int
	wake    chan struct{} // has room for one
	gone    chan struct{}

	// The server's lock guards the rest.
	session *session // nil before identify and after op 9
	resumed bool
	resumes bool // it asked to be
	queue   []frame
	frozen  bool
	deaf    bool // sends no acks
	closing int  // the code with which this side closed; 0: it did not
	ended   bool
	sends   []time.Time
	beat    *time.Timer
}

// frame is something to write: data, or a close.
type frame struct {
	data     []byte
	compress bool
	close    int
	text     string
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// serveGateway takes a connection to the Gateway.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	if f := s.takeFault(GatewayRoute, ""); f != nil {
		s.fail(w, r, f)
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	ws.SetReadLimit(1 << 20)
	c := &Connection{server: s, ws: ws, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing() {
		_ = ws.Close()
		return
	}
	s.connections = append(s.connections, c)
	s.stats.Connects++
	if strings.HasPrefix(r.URL.Path, "/resume") {
		s.stats.ByResume++
	}
	c.beat = time.AfterFunc(s.options.Silence, c.silent)
	s.running.Go(c.write)
	s.running.Go(c.read)
	c.greet(r)
	s.change()
}

// greet checks the address's parameters and says hello.
func (c *Connection) greet(r *http.Request) {
	switch r.URL.Query().Get("v") {
	case "9":
		c.version = 9
	case "10":
		c.version = 10
	default:
		c.push(frame{close: 4012, text: "Invalid API version"})
		return
	}
	if e := r.URL.Query().Get("encoding"); e != "json" || r.URL.Query().Get("compress") != "" {
		c.server.violate("gateway: only encoding=json is spoken here, and no stream is compressed")
		c.push(frame{close: 4002, text: "Error while decoding payload."})
		return
	}
	if c.server.reconnects > 0 {
		c.server.reconnects--
		c.push(frame{data: raw(object{"op": 7, "d": nil})})
		return
	}
	interval := c.server.options.Heartbeat.Milliseconds()
	c.push(frame{data: raw(object{"op": 10, "d": object{"heartbeat_interval": interval}})})
}

// silent closes a connection on which no heartbeat came for too long. Of one that is
// half open that is nobody's fault.
func (c *Connection) silent() {
	c.server.mu.Lock()
	frozen := c.frozen
	c.server.mu.Unlock()
	if !frozen {
		c.Close(4009, "Session timed out.")
	}
}

// closing tells whether Close was called. The lock is held.
func (s *Server) closing() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// push queues a frame. The lock is held.
func (c *Connection) push(f frame) {
	f.compress = c.session != nil && c.session.compress && len(f.data) > compressFrom
	c.closing = max(c.closing, f.close)
	c.queue = append(c.queue, f)
	c.nudge()
}

func (c *Connection) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write sends queued messages until the connection is gone.
func (c *Connection) write() {
	for {
		select {
		case <-c.wake:
		case <-c.gone:
			return
		}
		c.server.mu.Lock()
		queue := c.queue
		if c.frozen {
			queue = nil
		} else {
			c.queue = nil
		}
		c.server.mu.Unlock()
		for _, f := range queue {
			if c.writeFrame(f) != nil {
				return // the reader sees it too, and ends the connection
			}
		}
	}
}

func (c *Connection) writeFrame(f frame) error {
	_ = c.ws.SetWriteDeadline(time.Now().Add(10 * time.Second))
	switch {
	case f.close != 0:
		err := c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(f.close, f.text))
		// The bot answers, or doesn't: nobody waits for it.
		_ = c.ws.SetReadDeadline(time.Now().Add(time.Second))
		return err
	case f.compress:
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, err := z.Write(f.data)
		if err := errors.Join(err, z.Close()); err != nil {
			return err
		}
		return c.ws.WriteMessage(websocket.BinaryMessage, b.Bytes())
	default:
		return c.ws.WriteMessage(websocket.TextMessage, f.data)
	}
}

// read reads the bot's payloads until the connection ends.
func (c *Connection) read() {
	for {
		_, data, err := c.ws.ReadMessage()
		c.server.mu.Lock()
		if err != nil {
			c.end(err)
			c.server.mu.Unlock()
			return
		}
		if !c.frozen {
			c.receive(data)
		}
		c.server.change()
		c.server.mu.Unlock()
	}
}

// end cleans up. A bot that closes with 1000 or 1001 gives its session up. From this
// side those codes mean nothing, since a restarting proxy closes so, but other codes
// end the session. Otherwise the session waits for a resume.
func (c *Connection) end(err error) {
	s := c.server
	code := websocket.CloseAbnormalClosure
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		code = closed.Code
	}
	if c.frozen {
		code = websocket.CloseAbnormalClosure // it does not arrive
	} else if c.closing == 0 {
		s.stats.Closes = append(s.stats.Closes, code)
	} else {
		code = c.closing
	}
	if c.session != nil && c.session.conn == c {
		c.session.conn, c.session.left = nil, s.now()
		byBot := c.closing == 0 && (code == websocket.CloseNormalClosure || code == websocket.CloseGoingAway)
		if byBot || c.closing == 4007 || c.closing == 4009 {
			s.forget(c.session)
		}
	}
	s.connections = slices.DeleteFunc(s.connections, func(o *Connection) bool { return o == c })
	c.beat.Stop()
	c.ended = true
	close(c.gone)
	_ = c.ws.Close()
	s.change()
}

// receive obeys a payload. The lock is held.
func (c *Connection) receive(data []byte) {
	var p struct {
		Op *int            `json:"op"`
		D  json.RawMessage `json:"d"`
	}
	s := c.server
	now := s.now()
	c.sends = slices.DeleteFunc(c.sends, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	c.sends = append(c.sends, now)
	switch err := json.Unmarshal(data, &p); {
	case len(c.sends) > sendsPerMinute:
		c.push(frame{close: 4008, text: "Rate limited."})
	case err != nil || p.Op == nil || len(data) > largestPayload:
		c.push(frame{close: 4002, text: "Error while decoding payload."})
	case *p.Op == 1:
		c.beat.Reset(s.options.Silence)
		s.stats.Beats++
		if c.resumes && string(p.D) == "null" {
			s.stats.Blind++
		}
		if !c.deaf {
			c.push(frame{data: raw(object{"op": 11, "d": nil})})
		}
	case *p.Op == 2 || *p.Op == 6:
		if c.session != nil {
			c.push(frame{close: 4005, text: "Already authenticated."})
			return
		}
		c.authenticate(*p.Op, p.D)
	case c.session == nil:
		c.push(frame{close: 4003, text: "Not authenticated."})
	case *p.Op == 3 || *p.Op == 4 || *p.Op == 8:
		// Presence, voice and member lists have no effect here.
	default:
		c.push(frame{close: 4001, text: "Unknown opcode."})
	}
}

// authenticate begins a session or resumes one.
func (c *Connection) authenticate(op int, data []byte) {
	var d struct {
		Token     string            `json:"token"`
		Intents   *int              `json:"intents"`
		Props     map[string]string `json:"properties"`
		Shard     *[2]int           `json:"shard"`
		Compress  bool              `json:"compress"`
		SessionID string            `json:"session_id"`
		Seq       int64             `json:"seq"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		c.push(frame{close: 4002, text: "Error while decoding payload."})
		return
	}
	if strings.TrimPrefix(d.Token, "Bot ") != c.server.options.Token {
		c.push(frame{close: 4004, text: "Authentication failed."})
		return
	}
	c.resumes = op == 6
	if op == 6 && c.server.resumeClose != 0 {
		c.push(frame{close: c.server.resumeClose})
		return
	}
	if op == 6 && c.server.resumeSilent {
		return
	}
	if op == 6 {
		c.server.resume(c, d.SessionID, d.Seq)
		return
	}
	shard := [2]int{0, 1}
	if d.Shard != nil {
		shard = *d.Shard
	}
	switch {
	case d.Intents == nil || *d.Intents&^everyIntent != 0:
		c.push(frame{close: 4013, text: "Invalid intent(s)."})
	case *d.Intents&privileged&^c.server.options.Privileged != 0:
		c.push(frame{close: 4014, text: "Disallowed intent(s)."})
	case shard[1] < 1 || shard[0] < 0 || shard[0] >= shard[1]:
		c.push(frame{close: 4010, text: "Invalid shard."})
	case d.Props["os"] == "" && d.Props["$os"] == "":
		c.push(frame{close: 4002, text: "Error while decoding payload."})
	case c.server.identifyRefused > 0 || c.server.identifiesTooFast():
		c.server.identifyRefused = max(0, c.server.identifyRefused-1)
		c.server.stats.Refused++
		c.push(frame{data: raw(object{"op": 9, "d": false})})
	case c.server.overdrawn():
	default:
		c.begin(&session{shard: shard, intents: *d.Intents, compress: d.Compress})
	}
}

// begin begins a session, or later, if nobody who begins one is answered.
func (c *Connection) begin(to *session) {
	s := c.server
	begin := func() {
		if !c.ended {
			s.stats.Identifies++
			s.open(c, to)
		}
	}
	if !s.identifySilent {
		begin()
		return
	}
	s.stats.Unanswered++
	s.identifyWaiting = append(s.identifyWaiting, begin)
}

// identifiesTooFast tells whether the last identify was less than 5 s ago: the
// application has max_concurrency 1.
func (s *Server) identifiesTooFast() bool {
	now := s.now()
	between := time.Duration(float64(betweenIdentify) / s.options.LimitScale)
	if !s.options.NoLimits && now.Sub(s.identified) < between {
		return true
	}
	s.identified = now
	return false
}

// cut ends the TCP connection with a reset. The lock is held.
func (c *Connection) cut() {
	if tcp, ok := c.ws.NetConn().(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.ws.NetConn().Close()
}
