package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"nod/chat/retry"
)

// Operations of the Gateway
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-opcodes).
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

// closeToResume is a close code that leaves the session to be resumed; 1000
// and 1001 would end it.
const closeToResume = 4000

const (
	mostFrame    = 32 << 20
	writeTimeout = 10 * time.Second
)

// Intents are the events that the program asks for: no more than it uses
// (https://discord.com/developers/docs/events/gateway#gateway-intents).
func Intents(content bool) discordgo.Intent {
	i := discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsGuildMessageReactions |
		discordgo.IntentsDirectMessages | discordgo.IntentsDirectMessageReactions
	if content {
		i |= discordgo.IntentMessageContent
	}
	return i
}

// payload is one frame of the Gateway
// (https://discord.com/developers/docs/events/gateway-events#payload-structure).
type payload struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s"`
	Type string          `json:"t"`
}

type conn struct {
	ws    *websocket.Conn
	acked atomic.Bool // the last heartbeat was
	seq   atomic.Int64
	work  sync.WaitGroup

	mu  sync.Mutex // for writing, and why
	why error      // it was closed from this side
}

func dial(ctx context.Context, address string) (*conn, error) {
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloTimeout}
	ws, resp, err := d.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("dial the gateway: %w", err)
	}
	ws.SetReadLimit(mostFrame)
	return &conn{ws: ws}, nil
}

// end closes what is left, and waits for the heartbeat to stop.
func (c *conn) end() {
	c.close(websocket.ErrCloseSent)
	c.work.Wait()
}

// close ends the connection from this side, for a reason, once. The code leaves the
// session to the next connection, or the next process.
func (c *conn) close(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return
	}
	c.why = why
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(closeToResume, ""), time.Now().Add(time.Second))
	_ = c.ws.Close()
}

// hello reads the first frame: how often to send heartbeats.
func (c *conn) hello() (time.Duration, error) {
	_ = c.ws.SetReadDeadline(time.Now().Add(helloTimeout))
	p, err := c.next()
	if err != nil {
		return 0, err
	}
	var h struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if p.Op == opReconnect { // also before anything else
		c.close(errReconnect)
		return 0, errReconnect
	}
	if p.Op != opHello || json.Unmarshal(p.Data, &h) != nil || h.Interval < 1 {
		return 0, errors.New("read the gateway: no hello")
	}
	_ = c.ws.SetReadDeadline(time.Time{})
	return time.Duration(h.Interval) * time.Millisecond, nil
}

func (c *conn) next() (payload, error) {
	var p payload
	if err := c.ws.ReadJSON(&p); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.why != nil {
			return p, c.why
		}
		return p, fmt.Errorf("read the gateway: %w", err)
	}
	if p.Seq != nil {
		c.seq.Store(*p.Seq)
	}
	return p, nil
}

func (c *conn) send(op int, data any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return c.why
	}
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := c.ws.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		return fmt.Errorf("write the gateway: %w", err)
	}
	return nil
}

func (c *conn) pulse() {
	var seq any
	if n := c.seq.Load(); n > 0 {
		seq = n
	}
	if err := c.send(opHeartbeat, seq); err != nil {
		c.close(err)
	}
}

// beat sends heartbeats, the first at a random time so that not all bots send
// theirs at once. A connection on which one was not acknowledged before the
// next is due is dead, even if it looks open.
func (c *conn) beat(ctx context.Context, every time.Duration) {
	c.acked.Store(true)
	for wait := rand.N(every); ; wait = every {
		if retry.Sleep(ctx, wait) != nil {
			return
		}
		if !c.acked.Swap(false) {
			c.close(errZombie)
			return
		}
		c.pulse()
	}
}
