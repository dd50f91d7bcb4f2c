package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat/outbox"
)

// web calls the Web API (https://docs.slack.dev/apis/web-api). Every call
// waits in the outbox for its rate limits.
//
// slack-go's own client is not used here: it refuses a whole page of history
// when one block in it is of an odd shape, hides which failures may have taken
// effect, and does not notice a refusal under HTTP 200.
type web struct {
	base  string
	token string
	http  *http.Client
	out   *outbox.Outbox
	dead  chan struct{} // has a value once Slack refused the token
}

const (
	callTimeout  = 20 * time.Second
	mostAnswer   = 32 << 20 // bytes of one answer
	unsaidRetry  = 10 * time.Second
	longestRetry = 10 * time.Minute
)

func newWeb(o Options) *web {
	return &web{
		base: o.APIURL, token: o.BotToken, http: o.HTTP, dead: make(chan struct{}, 1),
		out: o.Outbox(Platform, func(b string) outbox.Budget { return budget(b, o.Limits, o.Pace) }),
	}
}

// request is one call of a method.
type request struct {
	method   string
	args     url.Values
	priority outbox.Priority
	group    string            // calls of one group keep their order
	key      string            // a newer floating call of a key replaces an older one
	float    bool              // nobody waits for it
	skip     func() bool       // asked last: the call has become pointless
	then     func(error)       // told how it ended
	timeout  time.Duration     // default callTimeout
	answer   any               // where to put what Slack says; may be nil
	header   func(http.Header) // told the headers of the answer
}

// call makes a call. It returns an *apiError for what Slack refuses, a
// *outbox.Lost where it is not known whether the call took effect, and otherwise
// an error that says that it did not.
func (w *web) call(ctx context.Context, r request) error {
	return w.out.Do(ctx, outbox.Call{
		Priority: r.priority, Buckets: buckets(r.method, r.args), Group: r.group, Key: r.key, Float: r.float,
		Run: func(ctx context.Context) error {
			if r.skip != nil && r.skip() {
				return nil
			}
			err := w.once(ctx, r)
			if dead(err) {
				w.died()
			}
			if r.then != nil {
				r.then(err)
			}
			return err
		},
	})
}

func (w *web) once(ctx context.Context, r request) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.timeout, callTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+r.method, strings.NewReader(r.args.Encode()))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := w.http.Do(req)
	if err != nil {
		return outbox.AsLost(r.method, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if r.header != nil {
		r.header(resp.Header)
	}
	return r.read(resp)
}

// passing are the words for what Slack itself gets over: trouble of its own, and a
// workspace or channel that is being moved to an organisation
// (https://docs.slack.dev/reference/methods/chat.update).
var passing = []string{
	"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "external_channel_migrating",
	"org_login_required",
}

// read judges an answer.
func (r request) read(resp *http.Response) error {
	if resp.StatusCode == http.StatusTooManyRequests {
		return r.limited(resp.Header)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return &outbox.Lost{Call: r.method, Err: fmt.Errorf("status %d", resp.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return &outbox.Lost{Call: r.method, Err: err}
	}
	var said apiError
	if err := json.Unmarshal(body, &said); err != nil {
		return &outbox.Lost{Call: r.method, Err: fmt.Errorf("status %d, not understood", resp.StatusCode)}
	}
	said.Method = r.method
	switch {
	case said.OK:
	case slices.Contains([]string{"ratelimited", "rate_limited"}, said.Code):
		return r.limited(resp.Header)
	case slices.Contains(passing, said.Code):
		return &outbox.Lost{Call: r.method, Err: ownTrouble(said.Code)}
	default:
		return &said
	}
	if r.answer == nil {
		return nil
	}
	if err := json.Unmarshal(body, r.answer); err != nil {
		return &outbox.Lost{Call: r.method, Err: errors.New("the answer is not understood")}
	}
	return nil
}

// limited is a refusal of one call too many. Slack counts by method, and
// messages by channel besides; which of the two it was, it doesn't say.
func (r request) limited(h http.Header) error {
	after := unsaidRetry
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil && n >= 0 {
		after = min(time.Duration(n)*time.Second, longestRetry)
	}
	own := buckets(r.method, r.args)
	return &outbox.RetryAfter{Bucket: own[len(own)-1], After: after, Err: errors.New(r.method)}
}

// apiError is what Slack says to a call: a refusal, unless OK.
type apiError struct {
	Method   string          `json:"-"`
	OK       bool            `json:"ok"`
	Code     string          `json:"error"`
	Needed   string          `json:"needed"`
	Provided string          `json:"provided"`
	Errors   json.RawMessage `json:"errors"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

func (e *apiError) Error() string {
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

// troubled gives Slack's word for what it could not do; "" for any other error. It may
// be about one message alone, or about all that is asked of it.
func troubled(err error) string {
	var t ownTrouble
	_ = errors.As(err, &t)
	return string(t)
}

// died notes that Slack refused the token.
func (w *web) died() {
	select {
	case w.dead <- struct{}{}:
	default:
	}
}

// code is Slack's word for a refusal; "" for any other error.
func code(err error) string {
	var e *apiError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// whoami is what auth.test says.
type whoami struct {
	URL    string `json:"url"`
	Team   string `json:"team"`
	User   string `json:"user"`
	TeamID string `json:"team_id"`
	UserID string `json:"user_id"`
	BotID  string `json:"bot_id"`
	// Enterprise is the Grid organisation that the workspace belongs to.
	Enterprise string   `json:"enterprise_id"`
	Scopes     []string `json:"-"`
}

func (w *web) whoami(ctx context.Context, p outbox.Priority) (whoami, error) {
	var who whoami
	err := w.call(ctx, request{method: "auth.test", args: url.Values{}, priority: p, answer: &who, header: func(h http.Header) {
		who.Scopes = strings.FieldsFunc(h.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
	}})
	if err == nil && (who.TeamID == "" || who.UserID == "") {
		err = errors.New("auth.test: names no team or user")
	}
	return who, err
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
	"usergroups.users.list": 20,
	"chat.postEphemeral":    100, "users.info": 100, "views.open": 100, "views.update": 100, "views.publish": 100,
	"files.getUploadURLExternal": 100, "files.completeUploadExternal": 100,
}

// budget says what a bucket allows. Messages have their own rule: about one a
// second in a channel with short bursts, and a limit for the workspace that
// Slack doesn't publish, of which is known that it is hundreds a minute.
// A limit that the file sets counts in a channel, where the published one does.
func budget(bucket string, limits map[string]int, pace float64) outbox.Budget {
	method, channel, _ := strings.Cut(bucket, " ")
	set := limits[method]
	switch {
	case method == outbox.Everything:
		return outbox.Budget{}
	case method == "chat.postMessage" && channel != "":
		n := cmp.Or(set, 60)
		return window(n, max(3, n/20), pace)
	case method == "chat.postMessage":
		n := max(set, 300)
		return window(n, n/15, pace)
	case channel != "":
		n := cmp.Or(set, 60)
		return window(n, max(1, n/6), pace)
	}
	n := cmp.Or(set, tiers[method], 100)
	if method == "users.info" || method == "conversations.history" {
		return window(n, n, pace) // what people wait for is asked at once: who they are, and what they said while nobody listened
	}
	return window(n, n*2/5, pace)
}

// window allows so many calls a minute, some of them at once.
func window(n, burst int, pace float64) outbox.Budget {
	return outbox.Window(n, time.Duration(float64(time.Minute)/pace), burst)
}
