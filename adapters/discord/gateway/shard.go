package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"nod/chat/inbound"
	"nod/chat/retry"
)

// shard keeps one session of the Gateway alive: the events of a part of the
// guilds, and for shard 0 of the direct conversations
// (https://discord.com/developers/docs/events/gateway). The session outlives
// its connections. Only what it has taken in moves seq on, so that a resume
// brings everything else again.
type shard struct {
	g     *Gateway
	n, of int

	// The shard writes these with the lock of the gateway, and reads them without.
	session string
	resume  string          // address for going on with the session
	seq     int64           // of the last event that was taken in
	open    map[int64]int   // events that are not put yet
	ours    bool            // this process has the session
	live    bool            // the connection has it
	guilds  map[string]bool // of the session, which were not told of yet

	tried  int           // how often going on with it failed in a row
	taken  Bookmark      // what another process noted of the session, until it goes on
	late   *time.Timer   // what was missed is looked for without them
	enough *time.Timer   // they are not waited for any longer
	turn   time.Time     // when it may begin its first session
	beats  int64         // bookmarks written
	begun  chan struct{} // has room for one: a session began
}

const (
	longestPause = time.Minute
	helloTimeout = 20 * time.Second
	// slowReady is how long a new session may take to come while heartbeats are
	// acknowledged. Asking again would cost one more of those that a day allows.
	slowReady = 5 * time.Minute
)

// keep connects the shard again and again. It returns an error that connecting again
// can't mend.
func (s *shard) keep(ctx context.Context) error {
	besides, enough := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer enough()
	s.recall(ctx)
	beside.Go(func() { s.bookmarks(besides) })
	for pause := s.g.o.Pause; ; {
		err := s.connect(ctx)
		was := s.leave()
		if ctx.Err() != nil {
			return nil
		}
		if closedWith(err) == tooFewShards && s.g.o.Shards < 1 {
			return ErrTooFew
		}
		if why := fatalClose(err); why != "" {
			return fmt.Errorf("connect to Discord: %w: %s", err, why)
		}
		if was {
			pause = s.g.o.Pause
		}
		s.judge(err, was)
		s.g.host.Remember(ctx)
		s.g.o.Logger.Warn("shard disconnected", "shard", s.n, "resume", s.session != "", "error", err)
		wait := pause
		switch {
		case errors.Is(err, errReconnect):
			wait = 0
		case errors.Is(err, errInvalid):
			wait = s.g.o.Pause + rand.N(4*s.g.o.Pause) // 1 to 5 s, as Discord asks
		default:
			pause = min(2*pause, longestPause)
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return nil
		}
	}
}

// leave notes a lost connection, and says whether it had a session.
func (s *shard) leave() (was bool) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	was, s.live = s.live, false
	s.g.missedFrom(s.g.o.Now())
	return was
}

// judge says what a failure means for the session.
func (s *shard) judge(err error, was bool) {
	switch {
	case lostSession(err):
		s.forget()
	case was:
		s.tried = 0
	case s.session != "" && resumeFailed(err):
		if s.tried++; s.tried >= mostTried {
			s.forget()
		}
	}
}

// Reasons for which a connection is given up.
var (
	errReconnect = errors.New("discord asks to connect again")
	errInvalid   = errors.New("the session is invalid")
	errZombie    = errors.New("a heartbeat was not acknowledged")
	errNotReady  = errors.New("no session came")
)

// fatalClose says what to do about a close that connecting again can't mend
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway).
func fatalClose(err error) string {
	return map[int]string{
		4004: "the token is refused: copy discord.token again",
		4010: "the shard is invalid: set discord.shards to auto",
		4011: "there are too many guilds for so few shards: set discord.shards to auto",
		4012: "this version of the Gateway is not served any more",
		4013: "the intents are invalid",
		4014: "an intent is not switched on: discord.follow, unless it is auto or mentions, and an alert of a bot need the Message Content Intent (Developer Portal, Bot)",
	}[closedWith(err)]
}

// tooFewShards is the code with which Discord closes when a shard has more than
// 2,500 guilds.
const tooFewShards = 4011

// closedWith is the code with which Discord closed a connection; 0 for any other
// end.
func closedWith(err error) int {
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		return 0
	}
	return closed.Code
}

// connect opens one connection and reads it until it ends.
func (s *shard) connect(parent context.Context) error {
	address, err := s.address()
	if err != nil {
		return err
	}
	c, err := dial(parent, address)
	if err != nil {
		s.setResume("") // next time by the general address
		return err
	}
	defer c.end()
	every, err := c.hello()
	if err != nil {
		return err
	}
	c.seq.Store(s.seq) // what came last, also before anything comes
	stop := context.AfterFunc(parent, func() { c.close(parent.Err()) })
	defer stop()
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	c.work.Go(func() { c.beat(ctx, every) })
	if err := s.greet(ctx, c); err != nil {
		return err
	}
	patience := slowReady
	if s.session != "" {
		patience = s.g.o.Greet
	}
	greeting := time.AfterFunc(patience, func() { c.close(errNotReady) })
	defer greeting.Stop()
	return s.read(parent, c, greeting) // events outlive the connection
}

func (s *shard) setResume(address string) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.resume = address
}

func (s *shard) forget() {
	s.is("", "", 0)
	s.tried, s.taken = 0, Bookmark{}
}

// address is where to connect: with a session, where its READY said.
func (s *shard) address() (string, error) {
	address := cmp.Or(s.resume, s.g.url)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		s.setResume("")
		return "", errors.New("discord gives no address to connect to")
	}
	u.RawQuery = url.Values{"v": {APIVersion}, "encoding": {"json"}}.Encode()
	return u.String(), nil
}

// greet goes on with the session, or asks for a new one when it may.
func (s *shard) greet(ctx context.Context, c *conn) error {
	if s.session != "" {
		return c.send(opResume, map[string]any{"token": s.g.o.Token, "session_id": s.session, "seq": s.seq})
	}
	if err := s.mayIdentify(ctx); err != nil {
		return err
	}
	return c.send(opIdentify, map[string]any{
		"token": s.g.o.Token, "intents": Intents(s.g.o.Content()), "shard": [2]int{s.n, s.of},
		"properties": map[string]string{"os": "linux", "browser": "nod", "device": "nod"},
	})
}

// read handles frames until the connection ends.
func (s *shard) read(ctx context.Context, c *conn, greeting *time.Timer) error {
	for {
		p, err := c.next()
		if err != nil {
			return err
		}
		switch p.Op {
		case opDispatch:
			if p.Type == "RESUMED" && s.taken.Unlooked { // only a new session tells of the channels to look in
				s.forget()
				c.close(errReconnect)
				return errReconnect
			}
			if s.dispatch(ctx, p) {
				greeting.Stop()
			}
		case opHeartbeat:
			c.pulse()
		case opAck:
			c.acked.Store(true)
		case opReconnect:
			c.close(errReconnect)
			return errReconnect
		case opInvalid:
			if string(p.Data) != "true" {
				s.forget()
			}
			c.close(errInvalid)
			return errInvalid
		}
	}
}

// dispatch takes an event in, and then notes its number. It says whether the
// connection has a session by it.
func (s *shard) dispatch(ctx context.Context, p payload) (begun bool) {
	if p.Seq != nil && *p.Seq <= s.seq && p.Type != "READY" {
		inbound.Count(s.g.o.Observe.Redelivered)
		return false
	}
	switch p.Type {
	case "READY":
		begun = s.ready(p.Data)
	case "RESUMED":
		s.resumed()
		inbound.Count(s.g.o.Observe.Reconnected)
		begun = true
	default:
		inbound.Count(s.g.o.Observe.Event)
		e := Event{Kind: p.Type, Data: p.Data, Late: !s.live} // those that come before RESUMED are delivered again
		if p.Seq != nil {
			e.Hold = func() func() { return s.hold(*p.Seq) }
		}
		s.g.host.Receive(ctx, e)
		s.told(p)
	}
	if p.Seq != nil && ctx.Err() == nil {
		s.g.mu.Lock()
		s.seq = *p.Seq
		s.g.mu.Unlock()
	}
	return begun
}

// resumed goes on with the session. Whether the process before looked at all approvals
// is not known, so where the session was another's they are looked at now.
func (s *shard) resumed() {
	if s.taken.Session != "" {
		s.g.host.Recount()
	}
	s.taken = Bookmark{}
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.begin()
	s.g.settle()
}

// ready begins a new session. What came before it is looked for.
func (s *shard) ready(data json.RawMessage) bool {
	var r struct {
		Session string          `json:"session_id"`
		Resume  string          `json:"resume_gateway_url"`
		User    json.RawMessage `json:"user"`
		Guilds  []struct {
			ID string `json:"id"`
		} `json:"guilds"`
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Session == "" {
		s.g.host.Malformed("READY")
		return false
	}
	s.g.host.Greeted(r.User)
	s.is(r.Session, r.Resume, 0)
	s.stopWaiting()
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.begin()
	s.g.begun++
	s.guilds = map[string]bool{}
	for _, g := range r.Guilds {
		s.guilds[g.ID] = true
	}
	if len(s.guilds) == 0 {
		s.g.host.Missed()
		return true
	}
	s.late = time.AfterFunc(s.g.o.Told, s.g.host.Missed)
	s.enough = time.AfterFunc(longestOutage, s.toldAll)
	return true
}

// longestOutage is how long it is known of what a guild missed before it came back. It is
// far less than event ids are known for, as what was heard since in others is read again.
const longestOutage = time.Hour

func (s *shard) stopWaiting() {
	if s.late != nil {
		s.late.Stop()
		s.enough.Stop()
	}
}

// toldAll has it looked for what was missed for the last time.
func (s *shard) toldAll() {
	s.g.mu.Lock()
	s.guilds = nil
	s.g.mu.Unlock()
	s.g.host.Missed()
}

// told notes that a guild's channels are known. When all are, or none has come for
// a while, what was missed in them is looked for, and again when more come: Discord
// takes its time with many guilds, and can't tell of some at all for now.
func (s *shard) told(p payload) {
	var g struct {
		ID          string `json:"id"`
		Unavailable bool   `json:"unavailable"`
	}
	if p.Type != "GUILD_CREATE" || json.Unmarshal(p.Data, &g) != nil || g.Unavailable {
		return
	}
	s.g.mu.Lock()
	waited := s.guilds[g.ID]
	delete(s.guilds, g.ID)
	left := len(s.guilds)
	s.g.mu.Unlock()
	switch {
	case waited && left > 0:
		s.late.Reset(s.g.o.Told)
	case waited:
		s.stopWaiting()
		s.toldAll()
	}
}

// begin notes that the connection has its session. The lock is held.
func (s *shard) begin() {
	s.live, s.ours = true, true
	select {
	case s.begun <- struct{}{}:
	default:
	}
}

// mayIdentify waits until a shard may begin a new session. Each one counts, also
// one that Discord never answers: who asks for too many in a day gets a new token.
func (s *shard) mayIdentify(ctx context.Context) error {
	info, err := s.g.host.Start(ctx)
	limit := &info.SessionStartLimit // an answer without one limits nothing
	for ; err == nil && limit.Remaining < 1 && (limit.Total > 0 || limit.ResetAfter > 0); info, err = s.g.host.Start(ctx) {
		wait := max(time.Duration(limit.ResetAfter)*time.Millisecond, time.Second) // Discord cuts the fractions
		s.g.o.Logger.Error("discord allows no new session today", "again_in", wait.String())
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	at := s.turn
	if s.turn = (time.Time{}); s.g.o.Now().Sub(at) > s.g.o.Stagger {
		at = s.g.turn(s.n%max(1, limit.MaxConcurrency), s.g.o.Now())
	}
	return retry.Sleep(ctx, at.Sub(s.g.o.Now()))
}
