package fakediscord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"nod/internal/fakediscord"
)

// patience bounds how long a test waits for what must come.
const patience = 5 * time.Minute

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// usual is a guild with a channel and a person, without rate limits.
type usual struct {
	*fakediscord.Server
	guild, channel, ada string
}

func start(t *testing.T, o fakediscord.Options) usual {
	t.Helper()
	s := fakediscord.Start(t, o)
	u := usual{Server: s, ada: s.AddUser("ada", "Ada")}
	u.guild = s.AddGuild("Acme", s.AddUser("boss", ""), u.ada)
	u.channel = s.AddChannel(u.guild, "general")
	return u
}

// until waits for a condition.
func until(t *testing.T, s *fakediscord.Server, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.WaitFor(ctx, func(*fakediscord.Server) bool { return holds() }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// call makes a REST request as the bot, and gives the status and the JSON.
func call(t *testing.T, s *fakediscord.Server, method, path string, body any) (int, map[string]any) {
	t.Helper()
	status, answer, _ := callRaw(t, s, method, path, body)
	var out map[string]any
	_ = json.Unmarshal(answer, &out) // lists are read by callRaw's users
	return status, out
}

func callRaw(t *testing.T, s *fakediscord.Server, method, path string, body any) (int, []byte, http.Header) {
	t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/v10"+path, in)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bot "+s.Token())
	r.Header.Set("User-Agent", "DiscordBot (https://discord.com, 1)")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer, resp.Header
}

// frame is what the Gateway sends.
type frame struct {
	Op int            `json:"op"`
	S  int64          `json:"s"`
	T  string         `json:"t"`
	D  map[string]any `json:"-"`
	R  any            `json:"d"`
}

// socket is a bare Gateway client.
type socket struct {
	t  *testing.T
	ws *websocket.Conn
}

func dial(t *testing.T, s *fakediscord.Server, query string) *socket {
	t.Helper()
	url := "ws" + s.URL()[len("http"):len(s.URL())-len("/api")] + "/?" + query
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
	if err != nil {
		t.Fatalf("dial: %v (%v)", err, resp)
	}
	t.Cleanup(func() { _ = ws.Close() })
	if err := ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &socket{t: t, ws: ws}
}

func (k *socket) read() (frame, error) {
	var f frame
	err := k.ws.ReadJSON(&f)
	f.D, _ = f.R.(map[string]any)
	return f, err
}

// next gives the next frame with an op.
func (k *socket) next(op int) frame {
	k.t.Helper()
	for {
		f, err := k.read()
		if err != nil {
			k.t.Fatalf("wait for op %d: %v", op, err)
		}
		if f.Op == op {
			return f
		}
	}
}

// event gives the next event of a kind.
func (k *socket) event(kind string) frame {
	k.t.Helper()
	for {
		if f := k.next(0); f.T == kind {
			return f
		}
	}
}

// kinds gives the kinds of the events up to and including one of kind last.
func (k *socket) kinds(last string) []string {
	k.t.Helper()
	var out []string
	for {
		f := k.next(0)
		if out = append(out, f.T); f.T == last {
			return out
		}
	}
}

// closed gives the code with which the server closes.
func (k *socket) closed() int {
	k.t.Helper()
	for {
		if _, err := k.read(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				k.t.Fatalf("wait for close: %v", err)
			}
			return closed.Code
		}
	}
}

func (k *socket) send(v any) {
	k.t.Helper()
	if err := k.ws.WriteJSON(v); err != nil {
		k.t.Fatal(err)
	}
}

type fields = map[string]any

func identify(intents int, more fields) fields {
	d := fields{"token": "token", "intents": intents, "properties": fields{"os": "linux", "browser": "x", "device": "x"}}
	for k, v := range more {
		if d[k] = v; v == nil {
			delete(d, k)
		}
	}
	return fields{"op": 2, "d": d}
}

const basic = fakediscord.IntentGuilds | fakediscord.IntentGuildMessages | fakediscord.IntentGuildReactions |
	fakediscord.IntentDirectMessages | fakediscord.IntentDirectReactions

// connect identifies and gives the socket and READY.
func connect(t *testing.T, s *fakediscord.Server, intents int, more fields) (*socket, frame) {
	t.Helper()
	k := dial(t, s, "v=10&encoding=json")
	k.next(10)
	k.send(identify(intents, more))
	return k, k.event("READY")
}

func resume(ready frame, seq int64) fields {
	return fields{"op": 6, "d": fields{"token": "token", "session_id": ready.D["session_id"], "seq": seq}}
}
