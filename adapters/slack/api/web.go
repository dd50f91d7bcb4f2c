// Package api speaks Slack's Web API, and reads the events and ids of Slack that nod needs.
// Calls wait in an outbox for Slack's rate limits. It knows nothing of agents.
package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"nod/chat/intake"
	"nod/chat/outbox"
)

// Client calls the Web API (https://docs.slack.dev/apis/web-api). Every call
// waits in the outbox for its rate limits.
//
// slack-go's own client is not used here: it refuses a whole page of history
// when one block in it is of an odd shape, hides which failures may have taken
// effect, and does not notice a refusal under HTTP 200.
type Client struct {
	Options
	Out  *outbox.Outbox
	Dead chan struct{} // has a value once Slack refused the token
}

// Bounds of calls. CallTimeout is that of one call.
const (
	CallTimeout  = 20 * time.Second
	mostAnswer   = 32 << 20 // bytes of one answer
	pageSize     = 999      // as many as Slack gives of a history
	UnsaidRetry  = 10 * time.Second
	LongestRetry = 10 * time.Minute
)

// Options set up a client.
type Options struct {
	Address string // of the API
	Token   string
	HTTP    *http.Client
	Limits  map[string]int // calls of a method a minute, over the published ones
	Pace    float64
	Outbox  func(budget func(bucket string) outbox.Budget) *outbox.Outbox
}

// New makes a client. Its out has to run.
func New(o Options) *Client {
	out := o.Outbox(func(b string) outbox.Budget { return Budget(b, o.Limits, o.Pace) })
	return &Client{Options: o, Out: out, Dead: make(chan struct{}, 1)}
}

// Request is one call of a method.
type Request struct {
	Method   string
	Args     url.Values
	Priority outbox.Priority
	Group    string            // calls of one group keep their order
	Key      string            // a newer floating call of a key replaces an older one
	Float    bool              // nobody waits for it
	Skip     func() bool       // asked last: the call has become pointless
	Then     func(error)       // told how it ended
	Answer   any               // where to put what Slack says; may be nil
	Field    string            // of what it says, which is wanted alone; "": all of it
	header   func(http.Header) // told the headers of the answer
}

// Call makes a call. It returns an *apiError for what Slack refuses, a
// *outbox.Lost where it is not known whether the call took effect, and otherwise
// an error that says that it did not.
func (w *Client) Call(ctx context.Context, r Request) error {
	return w.Out.Do(ctx, outbox.Call{
		Priority: r.Priority, Buckets: buckets(r.Method, r.Args), Group: r.Group, Key: r.Key, Float: r.Float,
		Run: func(ctx context.Context) error {
			if r.Skip != nil && r.Skip() {
				return nil
			}
			err := w.once(ctx, r)
			if Dead(err) && r.Method != whoami {
				select {
				case w.Dead <- struct{}{}:
				default:
				}
			}
			if r.Then != nil {
				r.Then(err)
			}
			return err
		},
	})
}

func (w *Client) once(ctx context.Context, r Request) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Address+r.Method, strings.NewReader(r.Args.Encode()))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+w.Token)
	resp, err := w.HTTP.Do(req)
	if err != nil {
		return outbox.AsLost(r.Method, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if r.header != nil {
		r.header(resp.Header)
	}
	return r.Read(resp)
}

// passing are the words for what Slack itself gets over: trouble of its own, and a
// workspace or channel that is being moved to an organisation
// (https://docs.slack.dev/reference/methods/chat.update).
var passing = []string{
	"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "external_channel_migrating",
	"org_login_required",
}

// Read judges an answer.
func (r Request) Read(resp *http.Response) error {
	if resp.StatusCode == http.StatusTooManyRequests {
		return r.limited(resp.Header)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return &outbox.Lost{Call: r.Method, Err: fmt.Errorf("status %d", resp.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return &outbox.Lost{Call: r.Method, Err: err}
	}
	var said Error
	if err := json.Unmarshal(body, &said); err != nil {
		return &outbox.Lost{Call: r.Method, Err: fmt.Errorf("status %d, not understood", resp.StatusCode)}
	}
	said.Method = r.Method
	switch {
	case said.OK:
	case slices.Contains([]string{"ratelimited", "rate_limited"}, said.Code):
		return r.limited(resp.Header)
	case slices.Contains(passing, said.Code):
		return &outbox.Lost{Call: r.Method, Err: ownTrouble(said.Code)}
	default:
		return &said
	}
	if r.Answer == nil {
		return nil
	}
	if r.Field != "" {
		var all map[string]json.RawMessage
		err = json.Unmarshal(body, &all)
		if body = all[r.Field]; body == nil {
			return err
		}
	}
	if err := json.Unmarshal(body, r.Answer); err != nil {
		return &outbox.Lost{Call: r.Method, Err: errors.New("the answer is not understood")}
	}
	return nil
}

// limited is a refusal of one call too many. Slack counts by method, and
// messages by channel besides; which of the two it was, it doesn't say.
func (r Request) limited(h http.Header) error {
	after := UnsaidRetry
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil && n >= 0 {
		after = min(time.Duration(n)*time.Second, LongestRetry)
	}
	own := buckets(r.Method, r.Args)
	return &outbox.RetryAfter{Bucket: own[len(own)-1], After: after, Err: errors.New(r.Method)}
}

// Error is what Slack says to a call: a refusal, unless OK.
type Error struct {
	Method   string          `json:"-"`
	OK       bool            `json:"ok"`
	Code     string          `json:"error"`
	Needed   string          `json:"needed"`
	Errors   json.RawMessage `json:"errors"`
	Metadata json.RawMessage `json:"response_metadata"`
}

func (e *Error) Error() string {
	if e.Needed != "" {
		return fmt.Sprintf("%s: %s (the scope %s is needed)", e.Method, e.Code, e.Needed)
	}
	if at := e.pointers(); len(at) > 0 {
		return e.Method + ": " + e.Code + " at " + strings.Join(at, ", ")
	}
	return e.Method + ": " + e.Code
}

// ownTrouble is Slack's word for trouble of its own.
type ownTrouble string

func (t ownTrouble) Error() string { return string(t) }

// Troubled gives Slack's word for what it could not do; "" for any other error. It may
// be about one message alone, or about all that is asked of it.
func Troubled(err error) string {
	var t ownTrouble
	_ = errors.As(err, &t)
	return string(t)
}

// Code is Slack's word for a refusal; "" for any other error.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Whoami is what auth.test says, also of what the token may do.
type Whoami struct {
	slackgo.AuthTestResponse
	Scopes []string `json:"-"`
}

// whoami is also what is asked again after a refusal of the token.
const whoami = "auth.test"

// Whoami asks who the token belongs to.
func (w *Client) Whoami(ctx context.Context, p outbox.Priority) (Whoami, error) {
	var who Whoami
	err := w.Call(ctx, Request{Method: whoami, Args: url.Values{}, Priority: p, Answer: &who, header: func(h http.Header) {
		who.Scopes = strings.FieldsFunc(h.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	}})
	if err == nil && (who.TeamID == "" || who.UserID == "") {
		err = errors.New("auth.test: names no team or user")
	}
	return who, err
}

// Channel is a conversation
// (https://docs.slack.dev/reference/methods/conversations.info).
type Channel struct {
	Name     string `json:"name"`
	User     string `json:"user"` // of a direct one: the person
	IM       bool   `json:"is_im"`
	Archived bool   `json:"is_archived"`
	Member   *bool  `json:"is_member"` // whether the bot is one; nil: that was not said
}

// Has says whether the bot is a member, as far as that was said.
func (c Channel) Has() bool { return c.Member != nil && *c.Member }

// Channel looks a conversation up.
func (w *Client) Channel(ctx context.Context, id string, p outbox.Priority) (c Channel, err error) {
	err = w.Call(ctx, Request{Method: "conversations.info", Args: url.Values{"channel": {id}}, Priority: p, Answer: &c, Field: "channel"})
	return c, err
}

// NoGroup is how Slack says that there is no such user group, or that it is disabled.
const NoGroup = "no_such_subteam"

// Members lists who is in a user group
// (https://docs.slack.dev/reference/methods/usergroups.users.list).
func (w *Client) Members(ctx context.Context, group string) (users []string, err error) {
	err = w.Call(ctx, Request{Method: "usergroups.users.list", Args: url.Values{"usergroup": {group}}, Priority: outbox.Approval, Answer: &users, Field: "users"})
	if err != nil {
		return nil, fmt.Errorf("list a user group: %w", err)
	}
	return users, nil
}

// buckets names the budgets that a call counts against; the last is the one
// that a refusal closes.
func buckets(method string, args url.Values) []string {
	out := []string{method}
	switch method {
	case "chat.postMessage":
		out = append(out, method+" "+args.Get("channel"))
	case "assistant.threads.setStatus":
		out = append(out, method+" "+args.Get("channel_id"))
	}
	return out
}

// The published tiers: calls of a method a minute, for the whole workspace
// (https://docs.slack.dev/apis/web-api/rate-limits).
var tiers = map[string]int{
	"apps.connections.open": 50, "chat.update": 50, "agents.sessions.setStatus": 50, "reactions.add": 50, "reactions.get": 50,
	"conversations.replies": 50, "conversations.history": 50, "conversations.info": 50, "conversations.open": 50, "users.conversations": 50,
	"assistant.search.context": 10, "usergroups.users.list": 20, "assistant.threads.setStatus": 600,
	"chat.postEphemeral": 100, "users.info": 100, "views.open": 100, "views.update": 100, "views.publish": 100,
	"files.getUploadURLExternal": 100, "files.completeUploadExternal": 100,
}

// Budget says what a bucket allows. Messages have their own rule: about one a
// second in a channel with short bursts, and a limit for the workspace that
// Slack doesn't publish, of which is known that it is hundreds a minute.
// A limit that the file sets counts in a channel, where the published one does.
func Budget(bucket string, limits map[string]int, pace float64) outbox.Budget {
	method, channel, _ := strings.Cut(bucket, " ")
	set := limits[method]
	n := cmp.Or(set, tiers[method], 100)
	if channel != "" {
		n = cmp.Or(set, 60)
	}
	burst := n * 2 / 5
	switch {
	case method == outbox.Everything:
		return outbox.Budget{}
	case method == "chat.postMessage" && channel != "":
		burst = max(3, n/20)
	case method == "chat.postMessage":
		n = max(set, 300)
		burst = n / 15
	case channel != "":
		burst = max(1, n/2)
	case method == "agents.sessions.setStatus": // many questions at once each show within a second that they were heard
		burst = n * 4 / 5
	case method == "users.info", method == "conversations.history", method == "assistant.search.context":
		burst = n // what people wait for is asked at once: who they are, what they said while nobody listened, and what others did
	}
	return outbox.Window(n, time.Duration(float64(time.Minute)/pace), burst)
}

// Download fetches a private file. The token goes to Slack's own hosts only:
// the address comes from an event, and an external file's is anybody's.
func (w *Client) Download(ctx context.Context, address, kind string, most int64) ([]byte, error) {
	if !w.Ours(address) {
		return nil, errors.New("fetch a file: it is not at Slack")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("fetch a file: bad address")
	}
	req.Header.Set("Authorization", "Bearer "+w.Token)
	return intake.Download(w.same(), req, most, func(resp *http.Response) error {
		page, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if resp.Request.URL.Query().Get("redir") != "" || page == "text/html" && kind != "text/html" {
			return errors.New("the token may not read it (is the scope files:read there?)")
		}
		return nil
	})
}

// same is a client that follows redirects only to where the token may go: it is
// sent along to another port, and to a host below.
func (w *Client) same() *http.Client {
	c := *w.HTTP
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if !w.Ours(req.URL.String()) || len(via) >= 10 {
			return errors.New("it is somewhere else")
		}
		return nil
	}
	return &c
}

// Ours says whether the token may go to an address.
func (w *Client) Ours(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	api, err := url.Parse(w.Address)
	if err == nil && u.Scheme == api.Scheme && strings.EqualFold(u.Host, api.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" && (host == "slack.com" || strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com"))
}

// Put sends content where Slack said.
func (w *Client) Put(ctx context.Context, address string, data []byte) error {
	if !w.Ours(address) {
		return &Error{Method: putMethod, Code: "the address is not Slack's"}
	}
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return &Error{Method: putMethod, Code: "bad address"}
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := w.HTTP.Do(req)
	if err != nil {
		return outbox.AsLost(putMethod, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusOK:
		return nil
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		return &outbox.Lost{Call: putMethod, Err: fmt.Errorf("status %d", resp.StatusCode)}
	}
	return &Error{Method: putMethod, Code: fmt.Sprintf("status %d", resp.StatusCode)}
}

// Pages gives a list that Slack gives page by page, until there are at least so many.
func Pages[T any](ctx context.Context, w *Client, r Request, most int) (out []T, err error) {
	for len(out) < most {
		var said struct {
			Messages []T `json:"messages"`
			Channels []T `json:"channels"`
			Meta     struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		r.Answer = &said
		if err := w.Call(ctx, r); err != nil {
			return out, err
		}
		out = append(append(out, said.Messages...), said.Channels...)
		if said.Meta.Next == "" {
			break
		}
		r.Args.Set("cursor", said.Meta.Next)
	}
	return out, nil
}

// History is a part of a channel or thread.
type History struct {
	Channel  string
	Thread   string // timestamp of its root; "" for what stands in the channel itself
	Oldest   string // exclusive
	Latest   string
	Priority outbox.Priority
	Pages    int // default 5
}

// Read gives the messages of a history, in no certain order. When there are
// more than so many pages the rest is left out.
func (w *Client) Read(ctx context.Context, h History) ([]Event, error) {
	method, args := "conversations.history", url.Values{"channel": {h.Channel}, "limit": {strconv.Itoa(pageSize)}, "include_all_metadata": {"true"}}
	if h.Thread != "" {
		method = "conversations.replies"
	}
	for name, v := range map[string]string{"ts": h.Thread, "oldest": h.Oldest, "latest": h.Latest} {
		if v != "" {
			args.Set(name, v)
		}
	}
	out, err := Pages[Event](ctx, w, Request{Method: method, Args: args, Priority: h.Priority}, pageSize*cmp.Or(h.Pages, 5))
	if h.Oldest != "" && err == nil { // a thread's root comes along in any case
		out = slices.DeleteFunc(out, func(ev Event) bool { return !SentAt(ev.TS).After(SentAt(h.Oldest)) })
	}
	return out, err
}

const putMethod = "upload"
