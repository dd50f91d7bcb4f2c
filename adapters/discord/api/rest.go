// Package api speaks Discord's REST API, and reads the objects and ids of Discord that nod
// needs. Calls wait in an outbox for Discord's rate limits. It knows nothing of agents.
package api

import (
	"bytes"
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
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/chat/intake"
	"nod/chat/markdown"
	"nod/chat/outbox"
	"nod/chat/retry"
	"nod/front"
)

// Client calls the REST API (https://discord.com/developers/docs/reference).
// Every call but the first answer to an interaction waits in the outbox for
// its rate limits.
type Client struct {
	base  string
	token string
	http  *http.Client
	Out   *outbox.Outbox
	agent string

	dead    sync.Once
	Refused chan struct{} // closed once Discord refuses the token
}

// Bounds of calls. CallTimeout is that of one call.
const (
	CallTimeout  = 20 * time.Second // of one call
	mostAnswer   = 32 << 20         // bytes of one answer
	unsaidRetry  = 5 * time.Second
	longestRetry = 10 * time.Minute
	longestBan   = 2 * time.Hour // what stands before Discord refuses for longer than Discord does
)

// Options set up a client.
type Options struct {
	Address string // of the API, without a version
	Token   string
	Version string // of the program
	Global  int    // calls a second
	Pace    float64
	HTTP    *http.Client
	// Outbox makes the outbox of the calls, of which budget says what they are allowed.
	Outbox func(budget func(bucket string) outbox.Budget) *outbox.Outbox
}

// New makes a client. Its out has to run.
func New(o Options) *Client {
	return &Client{
		base: strings.TrimSuffix(o.Address, "/") + "/v" + gateway.APIVersion, token: o.Token, http: o.HTTP, Refused: make(chan struct{}),
		// in the form that Discord asks for (https://discord.com/developers/docs/reference#user-agent)
		agent: "DiscordBot (https://discord.com, " + chat.FirstOf(strings.Join(strings.Fields(o.Version), "-"), "0") + ")",
		Out:   o.Outbox(func(b string) outbox.Budget { return budget(b, o.Global, o.Pace) }),
	}
}

// Request is one call. path is a pattern in which each {} stands for one of
// ids; the first of them is what Discord counts by, besides the route.
type Request struct {
	Method   string
	Path     string
	IDs      []string
	Query    url.Values
	Body     any
	Files    []Upload
	Priority outbox.Priority
	Group    string      // calls of one group keep their order
	Key      string      // a newer floating call of a key replaces an older one
	Float    bool        // nobody waits for it
	Skip     func() bool // asked last: the call has become pointless
	Made     func()      // Discord has taken the call
	Answer   any         // where to put what Discord says; may be nil
}

// Upload is a file that goes along with a message.
type Upload struct {
	Name string
	Kind string // its media type
	Says string // what is in it, for those who can't see it
	Data []byte
}

// PlainType shows a file as text to whoever opens it.
const PlainType = "text/plain; charset=utf-8"

// route names a call without what is secret or particular about it.
func (r Request) route() string { return r.Method + " " + r.Path }

func (r Request) url(base string) string {
	path := r.Path
	for _, id := range r.IDs {
		path = strings.Replace(path, "{}", url.PathEscape(id), 1)
	}
	if len(r.Query) > 0 {
		path += "?" + r.Query.Encode()
	}
	return base + path
}

// Call makes a call when its turn comes. It returns an *apiError for what
// Discord refuses, a *outbox.Lost where it is not known whether the call took
// effect, and otherwise an error that says that it did not.
func (w *Client) Call(ctx context.Context, r Request) error {
	return w.Out.Do(ctx, outbox.Call{
		Priority: r.Priority, Buckets: []string{r.bucket()}, Group: r.Group, Key: r.Key, Float: r.Float,
		Run: func(ctx context.Context) error {
			if r.Skip != nil && r.Skip() {
				return nil
			}
			err := w.Once(ctx, r)
			if err == nil && r.Made != nil {
				r.Made()
			}
			return err
		},
	})
}

// Get asks for one object.
func Get[T any](ctx context.Context, w *Client, p outbox.Priority, path string, ids ...string) (said T, err error) {
	err = w.Call(ctx, Request{Method: "GET", Path: path, IDs: ids, Priority: p, Answer: &said})
	return said, err
}

// Apart makes a call that counts against no limit of the others, again when
// Discord says so.
func (w *Client) Apart(ctx context.Context, r Request) error {
	for try := 1; ; try++ {
		err := w.Once(ctx, r)
		var later *outbox.RetryAfter
		if !errors.As(err, &later) || try == front.MostTries {
			return err
		}
		if retry.Sleep(ctx, later.After) != nil {
			return err
		}
	}
}

// Once makes a call now.
func (w *Client) Once(ctx context.Context, r Request) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	body, kind, err := r.encode()
	if err != nil {
		return fmt.Errorf("%s: write: %w", r.route(), err)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.url(w.base), body)
	if err != nil {
		return fmt.Errorf("%s: bad address", r.route())
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", w.agent)
	req.Header.Set("Authorization", "Bot "+w.token)
	resp, err := w.http.Do(req)
	if err != nil {
		return outbox.AsLost(r.route(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	w.learn(r, resp.Header)
	err = r.read(resp)
	if RefusedToken(err) && !strings.Contains(r.Path, "/{}/{}/callback") && !strings.HasPrefix(r.Path, "/webhooks/") {
		w.dead.Do(func() { close(w.Refused) })
	}
	return err
}

// encode writes the body: JSON, or a form that holds it and the files.
func (r Request) encode() (io.Reader, string, error) {
	if r.Body == nil {
		return http.NoBody, "", nil
	}
	kind := "application/json"
	raw, err := json.Marshal(r.Body)
	if len(r.Files) > 0 {
		var files []*discordgo.File
		for _, f := range r.Files {
			files = append(files, &discordgo.File{Name: f.Name, ContentType: f.Kind, Reader: bytes.NewReader(f.Data)})
		}
		kind, raw, err = discordgo.MultipartBodyWithJSON(r.Body, files)
	}
	return bytes.NewReader(raw), kind, err
}

// read judges an answer.
func (r Request) read(resp *http.Response) error {
	if resp.StatusCode >= http.StatusInternalServerError {
		return &outbox.Lost{Call: r.route(), Err: fmt.Errorf("status %d", resp.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if resp.StatusCode == http.StatusTooManyRequests {
		return r.limited(resp.Header, body)
	}
	if err != nil {
		return &outbox.Lost{Call: r.route(), Err: errors.New("the answer broke off")}
	}
	if resp.StatusCode >= http.StatusBadRequest {
		said := &Error{Route: r.route(), Status: resp.StatusCode}
		_ = json.Unmarshal(body, said) // a proxy's refusal has no JSON
		return said
	}
	if r.Answer == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(body, r.Answer); err != nil {
		return &outbox.Lost{Call: r.route(), Err: errors.New("the answer is not understood")}
	}
	return nil
}

// limited is a refusal of one call too many: of this bucket, or of all calls.
// A proxy before Discord refuses without saying which.
func (r Request) limited(h http.Header, body []byte) error {
	var said struct {
		After  *float64 `json:"retry_after"`
		Global bool     `json:"global"`
	}
	after, bucket, longest := unsaidRetry, "", longestRetry
	if json.Unmarshal(body, &said) != nil || said.After == nil {
		bucket, longest = outbox.Everything, longestBan
		if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil && n >= 0 {
			after = time.Duration(n) * time.Second
		}
	} else {
		after = seconds(*said.After)
	}
	if said.Global || h.Get("X-RateLimit-Scope") == "global" {
		bucket = outbox.Everything
	}
	return &outbox.RetryAfter{Bucket: bucket, After: min(after, longest), Err: errors.New(r.route())}
}

func seconds(s float64) time.Duration {
	return time.Duration(max(0, min(s, 1e6)) * float64(time.Second))
}

// Error is a refusal.
type Error struct {
	Route   string `json:"-"`
	Status  int    `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: status %d, code %d: %s", e.Route, e.Status, e.Code, e.Message)
}

// refusal is that of Discord or of what stands before it; empty for any other error.
func refusal(err error) Error {
	var e *Error
	if errors.As(err, &e) {
		return *e
	}
	return Error{}
}

// Code is Discord's number for a refusal; 0 for any other error, and for a
// refusal without one.
func Code(err error) int { return refusal(err).Code }

// Blank says whether something before Discord refused a call, which may be for a
// moment only.
func Blank(err error) bool {
	e := refusal(err)
	return e.Code == 0 && !slices.Contains([]int{0, http.StatusUnauthorized, http.StatusNotFound}, e.Status)
}

// Refused says whether Discord refused a call.
func Refused(err error) bool { return refusal(err).Status != 0 }

// Passes says whether time mends a refusal.
func Passes(err error) bool { return slices.Contains(Passing, Code(err)) }

// RefusedToken says whether Discord refuses the token.
func RefusedToken(err error) bool { return refusal(err).Status == http.StatusUnauthorized }

// Refusals that discordgo has no name for
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json).
const (
	CodeThreadExists = 160004
	CodeLocked       = 160005 // a thread
	CodeAutoMod      = 200000
	CodeTitle        = 200001 // AutoMod blocked the name of a thread
	CodeHarmful      = 240000 // a link that Discord blocks
	CodeNoHistory    = 160002 // so no message can be answered
	codeNoMutual     = 50278  // guilds with somebody
	CodeAnswered     = discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged
	CodeBadForm      = 50035
	CodeOver         = 10062 // an interaction
	CodeArchived     = 50083
	CodeOff          = 40006 // a feature, for everybody, and maybe for days
)

// goneCodes are refusals of a place: nothing else can be said there either.
var goneCodes = []int{
	discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodeUnknownMessage,
	discordgo.ErrCodeMissingAccess, discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeCannotSendMessagesToThisUser,
	discordgo.ErrCodeCannotSendMessagesInVoiceChannel, discordgo.ErrCodeCannotEditFromAnotherUser,
	CodeArchived, CodeLocked, codeNoMutual,
}

// Passing are refusals that time mends: a slow mode, a rate limit that is said in
// this way, what is switched off for a while, an overload, and an edit too many of an old
// message.
var Passing = []int{20016, 20022, 20028, 20029, 30046, CodeOff, 40062, 110000, 130000, 131005}

// Final turns a refusal that no repetition mends into chat.ErrGone, where nothing
// can be written any more, or into a chat.Refused. A refusal is for good unless it
// is known to pass.
func Final(err error) error {
	e := refusal(err)
	switch {
	case !Refused(err) || Passes(err) || RefusedToken(err):
		return err
	case slices.Contains(goneCodes, e.Code):
		return front.Gone{Said: SaidBy(&e), Err: err}
	}
	return SaidBy(&e)
}

// SaidBy is a refusal in words.
func SaidBy(e *Error) chat.Refused {
	if e.Code == 0 { // what stands before Discord
		return chat.Refused{Platform: "Discord", Code: strconv.Itoa(e.Status), Words: strings.ToLower(http.StatusText(e.Status))}
	}
	said := chat.Refused{Platform: "Discord", Code: strconv.Itoa(e.Code), Words: PlainWords[e.Code]}
	if said.Words == "" {
		said.Words = strings.TrimRight(strings.ToLower(markdown.Head(chat.Flat(e.Message), 200)), ".")
	}
	return said
}

// PlainWords say of some refusals what is to be done about them.
var PlainWords = map[int]string{
	CodeAutoMod: "this server's AutoMod blocked it", CodeTitle: "this server's AutoMod blocked it",
	CodeHarmful: "it holds a link that Discord blocks as harmful", CodeLocked: "the thread is locked",
	20009: "Discord takes it for explicit content", 50006: "the message is empty",
}

// keeps says whether an address is one at which Discord keeps files.
func (w *Client) keeps(u *url.URL) bool {
	if u.Scheme == "https" && (u.Host == "cdn.discordapp.com" || u.Host == "media.discordapp.net") {
		return true
	}
	own, err := url.Parse(w.base)
	return err == nil && u.Host == own.Host && u.Scheme == own.Scheme
}

// Download fetches a file. Its address is all that it takes; the token stays
// here.
func (w *Client) Download(ctx context.Context, address string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || !w.keeps(req.URL) {
		return nil, errors.New("fetch a file: bad address")
	}
	req.Header.Set("User-Agent", w.agent)
	return intake.Download(w.http, req, most, nil)
}

// Global is how many calls a bot may make in a second, unless it was given more.
const Global = 50

// budget says what a bucket allows: all calls together a number, any other
// what Discord announces.
func budget(bucket string, global int, pace float64) outbox.Budget {
	if bucket == outbox.Everything {
		return outbox.Window(global, time.Duration(float64(time.Second)/pace), global/5)
	}
	return outbox.Budget{Announced: true}
}

// bucket names the budget that a call counts against.
func (r Request) bucket() string {
	return strings.Join(append([]string{r.route()}, r.IDs[:min(len(r.IDs), 1)]...), " ")
}

// learn takes in what Discord says with an answer of what is left of its bucket
// (https://discord.com/developers/docs/topics/rate-limits).
func (w *Client) learn(r Request, h http.Header) {
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil {
		return
	}
	limit, _ := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	reset, _ := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64)
	w.Out.Update(r.bucket(), outbox.Announced{Limit: limit, Remaining: left, Reset: seconds(reset)})
}
