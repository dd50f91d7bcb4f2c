package fakediscord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// GatewayRoute is the route of connecting to the Gateway, for [Fault] and
// [Server.Calls].
const GatewayRoute = "GATEWAY"

// Fault makes requests fail. The first fault that fits a request is used for
// it.
type Fault struct {
	Route   string // as [Call] has it, "POST /channels/{channel}/messages"; empty: any REST request
	Channel string // only in this channel and its threads; empty: anywhere
	Skip    int    // so many fitting requests pass first
	Times   int    // how many fail; 0: one
	After   bool   // the request takes effect, and then fails: nobody knows

	Status     int           // 429, 500, 502 …
	Code       int           // Discord's code of a refusal, such as 50013; 0: a proxy before Discord refuses, in HTML
	Message    string        // Discord's text
	RetryAfter time.Duration // of a 429
	Global     bool          // the 429 is for the whole bot
	Hang       bool          // no answer ever comes
	Cut        bool          // the connection ends without an answer

	Hold <-chan struct{} // no failure: it is taken once that is closed
}

// Injected is a fault that was added.
type Injected struct {
	server *Server
	fault  Fault
	hits   int
}

// Inject adds a fault.
func (s *Server) Inject(f Fault) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = max(f.Times, 1)
	in := &Injected{server: s, fault: f}
	s.faults = append(s.faults, in)
	return in
}

// Hits is how many requests it made fail.
func (i *Injected) Hits() int {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	return i.hits
}

// Cancel ends it.
func (i *Injected) Cancel() {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	i.server.faults = slices.DeleteFunc(i.server.faults, func(f *Injected) bool { return f == i })
}

// strikes says whether it fits a request to a route that names a channel.
func (s *Server) strikes(f Fault, route, channel string) bool {
	if f.Route != route && (f.Route != "" || route == GatewayRoute) {
		return false
	}
	c := s.channels[channel]
	return f.Channel == "" || f.Channel == channel || c != nil && c.parent != nil && c.parent.id == f.Channel
}

// takeFault gives the fault for a request, if there is one.
func (s *Server) takeFault(route, channel string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if !s.strikes(f.fault, route, channel) {
			continue
		}
		if f.fault.Skip > 0 {
			f.fault.Skip--
			continue
		}
		f.hits++
		if f.fault.Times--; f.fault.Times == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return &f.fault
	}
	return nil
}

// fail answers a request as the fault says.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, f *Fault) {
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Status == http.StatusTooManyRequests:
		e := tooMany(f.RetryAfter, f.Global)
		e.setHeaders(w.Header())
		reply(w, e.status, e.body())
	case f.Code != 0 || f.Message != "":
		reply(w, cmp.Or(f.Status, http.StatusBadRequest), object{"message": f.Message, "code": f.Code})
	case f.Status == http.StatusInternalServerError:
		reply(w, f.Status, object{"message": "500: Internal Server Error", "code": 0})
	default: // a proxy before the API answers, in HTML
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = fmt.Fprintf(w, "<html><head><title>%d %s</title></head></html>\n", f.Status, http.StatusText(f.Status))
	}
}

// Duplicate sends each of the next n events twice.
func (s *Server) Duplicate(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.duplicates = n
}

// Reverse holds the next n events back, and then sends them in the opposite
// order.
func (s *Server) Reverse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = n
}

// Twist lets f change the data of every event from now on; nil ends it. f must
// not call the server.
func (s *Server) Twist(f func(kind string, data map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twist = f
}

// Emit sends every session an event with exactly this data, which must be
// JSON and may be nonsense.
func (s *Server) Emit(kind string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.sessionOrder {
		s.sendRaw(s.sessions[id], kind, data)
	}
	s.change()
}

// Malformed sends events about a channel that break Discord's documents, and returns
// their number. Each has a new id, and none means anything.
func (s *Server) Malformed(channel string) int {
	id := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.newID()
	}
	n := 0
	for _, m := range []struct{ kind, data string }{
		{"MESSAGE_CREATE", `null`},
		{"MESSAGE_CREATE", `{}`},
		{"MESSAGE_CREATE", `{"id":"$id","channel_id":"$channel","content":"no author","author":null}`},
		{"MESSAGE_CREATE", `{"id":"$id","channel_id":"$channel","content":"author left out"}`},
		{"MESSAGE_CREATE", `{"id":"$id","channel_id":"$channel","content":7,"author":{"id":"1","username":"x"}}`},
		{"MESSAGE_CREATE", `{"id":null,"channel_id":"$channel","content":"no id","author":{"id":"1","username":"x"}}`},
		{"MESSAGE_CREATE", `{"id":"$id","channel_id":null,"content":"no channel","author":{"id":"1","username":"x"}}`},
		{"MESSAGE_CREATE", `{"id":"$id","channel_id":"$channel","content":"odd lists","author":{},"mentions":null,"attachments":[null]}`},
		{"MESSAGE_CREATE", `{"id":"$id","channel_id":"$channel","content":"","author":null,"components":[{"type":99,"components":[{"type":21}]}]}`},
		{"MESSAGE_UPDATE", `{"id":"$id","channel_id":"$channel"}`},
		{"MESSAGE_DELETE", `{"channel_id":"$channel"}`},
		{"MESSAGE_REACTION_ADD", `{"channel_id":"$channel","message_id":"$id","emoji":null}`},
		{"MESSAGE_REACTION_ADD", `{"user_id":null,"channel_id":"$channel","message_id":null,"emoji":{"id":null,"name":null}}`},
		{"MESSAGE_REACTION_REMOVE", `null`},
		{"INTERACTION_CREATE", `{"id":"$id","type":3,"data":null}`},
		{"INTERACTION_CREATE", `{"id":"$id","type":77,"token":"t","data":{"custom_id":5}}`},
		{"THREAD_CREATE", `{"id":"$id"}`},
		{"GUILD_CREATE", `{"id":"$id","channels":null,"members":null,"roles":null}`},
		{"SOMETHING_NEW", `{"id":"$id"}`},
	} {
		data := strings.NewReplacer("$channel", channel, "$id", id()).Replace(m.data)
		s.Emit(m.kind, json.RawMessage(data))
		n++
	}
	return n
}

// ForgetSessions ends every session without a word: the next resume is told
// that its session is invalid.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
	s.sessionOrder = nil
	for _, c := range s.connections {
		c.session = nil
	}
}

// Recommend sets how many shards GET /gateway/bot recommends.
func (s *Server) Recommend(shards int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Shards = shards
}

// ReconnectFirst asks the next n connections to connect again, in place of saying
// hello.
func (s *Server) ReconnectFirst(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reconnects = n
}

// RefuseIdentifies has the next n bots that begin a session come again later, as where
// another process just began one.
func (s *Server) RefuseIdentifies(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identifyRefused = n
}

// RefuseResumes closes every connection that resumes with a code; 0 ends that.
func (s *Server) RefuseResumes(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumeClose = code
}

// IgnoreResumes answers no resume at all, while heartbeats are acknowledged.
func (s *Server) IgnoreResumes(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumeSilent = on
}

// HoldGuilds holds the GUILD_CREATE of every guild back after READY, as it takes a
// large bot's some time to come, until [Server.TellGuilds].
func (s *Server) HoldGuilds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guildsLater = true
}

// TellGuilds tells of so many of the guilds that were held back.
func (s *Server) TellGuilds(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range min(n, len(s.laterGuilds)) {
		s.laterGuilds[0]()
		s.laterGuilds = s.laterGuilds[1:]
	}
	s.change()
}

// Outage makes a guild unavailable, and says so in both of Discord's ways.
func (s *Server) Outage(guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	s.happen(event{kind: "GUILD_DELETE", guild: g, data: object{"id": g.id, "unavailable": true}})
	s.happen(event{kind: "GUILD_CREATE", guild: g, data: object{"id": g.id, "unavailable": true}})
}

// RemoveGuild takes the bot out of a guild.
func (s *Server) RemoveGuild(guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := must(s.guilds, "guild", guild)
	s.happen(event{kind: "GUILD_DELETE", guild: g, data: object{"id": g.id}})
	delete(s.guilds, g.id)
	s.guildOrder = slices.DeleteFunc(s.guildOrder, func(id string) bool { return id == g.id })
	for _, c := range g.channels {
		delete(s.channels, c)
	}
}

// ForgetNonces forgets every nonce, as time does.
func (s *Server) ForgetNonces() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.nonces)
}

// Connections gives the connections that have a session, in the order in which
// they came.
func (s *Server) Connections() []*Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.connections), func(c *Connection) bool { return c.session == nil })
}

// State is the state of a connection.
type State struct {
	Session string
	Shard   [2]int
	Intents int
	Resumed bool
	Frozen  bool
	Waiting int // payloads that are not sent yet
}

// State gives the connection's state; zero after its session ended.
func (c *Connection) State() State {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.session == nil || c.ended {
		return State{}
	}
	return State{
		Session: c.session.id, Shard: c.session.shard, Intents: c.session.intents,
		Resumed: c.resumed, Frozen: c.frozen, Waiting: len(c.queue),
	}
}

// Cut ends the connection with a TCP reset, without a close frame. The session
// can be resumed.
func (c *Connection) Cut() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.cut()
}

// Close closes the connection with a code, behind queued events.
func (c *Connection) Close(code int, text string) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if !c.ended {
		c.push(frame{close: code, text: text})
	}
}

// Freeze leaves the connection half open: it stays, but nothing comes and
// nothing that the bot sends is read. Thaw ends it.
func (c *Connection) Freeze() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.frozen = true
}

// Thaw ends a Freeze. What was held back comes.
func (c *Connection) Thaw() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.frozen = false
	c.beat.Reset(c.server.options.Silence)
	c.nudge()
}

// StopAcks acknowledges no heartbeat any more, while events still come.
func (c *Connection) StopAcks() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.deaf = true
}

// Reconnect asks the bot to connect again (op 7).
func (c *Connection) Reconnect() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.push(frame{data: raw(object{"op": 7, "d": nil})})
}

// Invalidate says that the session is invalid (op 9). If it is not resumable
// it ends here, too.
func (c *Connection) Invalidate(resumable bool) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.push(frame{data: raw(object{"op": 9, "d": resumable})})
	if c.session == nil {
		return
	}
	c.session.conn, c.session.left = nil, c.server.now()
	if !resumable {
		c.server.forget(c.session)
	}
	c.session = nil
}
