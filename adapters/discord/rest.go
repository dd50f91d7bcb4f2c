package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/retry"
	"nod/front"
)

// rest calls the REST API (https://discord.com/developers/docs/reference).
// Every call but the first answer to an interaction waits in the outbox for
// its rate limits.
type rest struct {
	base   string
	token  string
	http   *http.Client
	out    *outbox.Outbox
	limits *limits
	agent  string
	bad    invalid

	dead    sync.Once
	refused chan struct{} // closed once Discord refuses the token
}

const (
	callTimeout  = 20 * time.Second
	mostAnswer   = 32 << 20 // bytes of one answer
	unsaidRetry  = 5 * time.Second
	longestRetry = 10 * time.Minute
	longestBan   = 2 * time.Hour // what stands before Discord refuses for longer than Discord does
	mostInvalid  = 9000          // calls in invalidIn that Discord refuses; at 10,000 it hears nothing any more
	invalidIn    = 10 * time.Minute
)

// userAgent names the program in the form that Discord asks for, with the address
// of the bot's own profile: that is who calls
// (https://discord.com/developers/docs/reference#user-agent).
func userAgent(token, version string) string {
	at := "https://discord.com"
	if id := applicationID(token); id != "" {
		at += "/users/" + id
	}
	return "DiscordBot (" + at + ", " + chat.FirstOf(strings.Join(strings.Fields(version), "-"), "0") + ")"
}

// invalid counts the calls that count against the bot's address
// (https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans).
type invalid struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

// add counts an answer, and says whether it was one too many.
func (i *invalid) add(status int, h http.Header, now time.Time) bool {
	bad := status == http.StatusUnauthorized || status == http.StatusForbidden ||
		status == http.StatusTooManyRequests && h.Get("X-RateLimit-Scope") != "shared"
	if !bad {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if now.Sub(i.since) > invalidIn {
		i.since, i.n = now, 0
	}
	i.n++
	return i.n%mostInvalid == 0
}

func newREST(o Options) *rest {
	limited := func(bucket string, _ time.Duration) {
		if o.Observe.Limited != nil {
			o.Observe.Limited(bucket)
		}
	}
	failed := func(_ outbox.Priority, err error) { o.Logger.Debug("call discord", "error", err) }
	return &rest{
		base: strings.TrimSuffix(o.APIURL, "/") + "/v" + gateway.APIVersion, token: o.Token, http: o.HTTP, limits: newLimits(), agent: userAgent(o.Token, o.Version), refused: make(chan struct{}),
		out: outbox.New(outbox.Options{
			Budget: func(b string) outbox.Budget { return budget(b, o.Global, o.Pace) },
			Hooks:  outbox.Hooks{Paused: limited, Failed: failed},
		}),
	}
}

// request is one call. path is a pattern in which each {} stands for one of
// ids; the first of them is what Discord counts by, besides the route.
type request struct {
	method   string
	path     string
	ids      []string
	query    url.Values
	body     any
	files    []upload
	priority outbox.Priority
	group    string      // calls of one group keep their order
	key      string      // a newer floating call of a key replaces an older one
	float    bool        // nobody waits for it
	skip     func() bool // asked last: the call has become pointless
	made     func()      // Discord has taken the call
	answer   any         // where to put what Discord says; may be nil
}

// upload is a file that goes along with a message.
type upload struct {
	name string
	kind string // its media type
	says string // what is in it, for those who can't see it
	data []byte
}

// plainType shows a file as text to whoever opens it.
const plainType = "text/plain; charset=utf-8"

// route names a call without what is secret or particular about it.
func (r request) route() string { return r.method + " " + r.path }

func (r request) url(base string) string {
	path := r.path
	for _, id := range r.ids {
		path = strings.Replace(path, "{}", url.PathEscape(id), 1)
	}
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	return base + path
}

// call makes a call when its turn comes. It returns an *apiError for what
// Discord refuses, a *outbox.Lost where it is not known whether the call took
// effect, and otherwise an error that says that it did not.
func (w *rest) call(ctx context.Context, r request) error {
	return w.out.Do(ctx, outbox.Call{
		Priority: r.priority, Buckets: w.limits.buckets(r), Group: r.group, Key: r.key, Float: r.float,
		Run: func(ctx context.Context) error {
			if r.skip != nil && r.skip() {
				return nil
			}
			err := w.once(ctx, r)
			if err == nil && r.made != nil {
				r.made()
			}
			return err
		},
	})
}

// apart makes a call that counts against no limit of the others, again when
// Discord says so.
func (w *rest) apart(ctx context.Context, r request) error {
	for try := 1; ; try++ {
		err := w.once(ctx, r)
		var later *outbox.RetryAfter
		if !errors.As(err, &later) || try == front.MostTries {
			return err
		}
		if retry.Sleep(ctx, later.After) != nil {
			return err
		}
	}
}

// once makes a call now.
func (w *rest) once(ctx context.Context, r request) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, kind, err := r.encode()
	if err != nil {
		return fmt.Errorf("%s: write: %w", r.route(), err)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url(w.base), body)
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
	w.limits.learn(w.out, r, resp.Header)
	if w.bad.add(resp.StatusCode, resp.Header, time.Now()) {
		w.out.Pause(outbox.Everything, invalidIn)
	}
	err = r.read(resp)
	if refusedToken(err) && !strings.Contains(r.path, "/{}/{}/callback") && !strings.HasPrefix(r.path, "/webhooks/") {
		w.dead.Do(func() { close(w.refused) })
	}
	return err
}

// encode writes the body: JSON, or a form that holds it and the files.
func (r request) encode() (io.Reader, string, error) {
	if r.body == nil {
		return http.NoBody, "", nil
	}
	raw, err := json.Marshal(r.body)
	if err != nil || len(r.files) == 0 {
		return bytes.NewReader(raw), "application/json", err
	}
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part := func(disposition, kind string, data []byte) {
		h := textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {kind}}
		w, failed := form.CreatePart(h)
		if failed == nil {
			_, failed = w.Write(data)
		}
		err = errors.Join(err, failed)
	}
	part(`form-data; name="payload_json"`, "application/json", raw)
	for i, f := range r.files {
		part(fmt.Sprintf(`form-data; name="files[%d]"; filename=%q`, i, f.name), f.kind, f.data)
	}
	return &b, form.FormDataContentType(), errors.Join(err, form.Close())
}

// read judges an answer.
func (r request) read(resp *http.Response) error {
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
		said := &apiError{Route: r.route(), Status: resp.StatusCode}
		_ = json.Unmarshal(body, said) // a proxy's refusal has no JSON
		return said
	}
	if r.answer == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(body, r.answer); err != nil {
		return &outbox.Lost{Call: r.route(), Err: errors.New("the answer is not understood")}
	}
	return nil
}

// limited is a refusal of one call too many: of this bucket, or of all calls.
// What stands before Discord refuses without saying which.
func (r request) limited(h http.Header, body []byte) error {
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

// apiError is a refusal.
type apiError struct {
	Route   string `json:"-"`
	Status  int    `json:"-"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: status %d, code %d: %s", e.Route, e.Status, e.Code, e.Message)
}

// code is Discord's number for a refusal; 0 for any other error, and for a
// refusal without one.
func code(err error) int {
	var e *apiError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// blank says whether something before Discord refused a call, which may be for a
// moment only.
func blank(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.Code == 0 && e.Status != http.StatusUnauthorized && e.Status != http.StatusNotFound
}

func refused(err error) bool { var e *apiError; return errors.As(err, &e) }
func passes(err error) bool  { return slices.Contains(passing, code(err)) }
func refusedToken(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}

// Refusals that discordgo has no name for
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json).
const (
	codeThreadExists = 160004
	codeLocked       = 160005 // a thread
	codeNoHistory    = 160002 // so no message can be answered
	codeNoMutual     = 50278  // guilds with somebody
	codeAnswered     = discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged
	codeBadForm      = 50035
	codeOver         = 10062 // an interaction
	codeArchived     = 50083
	codeOff          = 40006 // a feature, for everybody, and maybe for days
)

// goneCodes are refusals of a place: nothing else can be said there either.
var goneCodes = []int{
	discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodeUnknownMessage,
	discordgo.ErrCodeMissingAccess, discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeCannotSendMessagesToThisUser,
	discordgo.ErrCodeCannotSendMessagesInVoiceChannel, discordgo.ErrCodeCannotEditFromAnotherUser,
	codeArchived, codeLocked, codeNoMutual,
}

// passing are refusals that time mends: a slow mode, a rate limit that is said in
// this way, what is switched off for a while, an overload, and an edit too many of an old
// message.
var passing = []int{20016, 20022, 20028, 20029, 30046, codeOff, 40062, 110000, 130000, 131005}

// final turns a refusal that no repetition mends into chat.ErrGone, where nothing
// can be written any more, or into a chat.Refused. A refusal is for good unless it
// is known to pass.
func final(err error) error {
	var e *apiError
	switch {
	case !errors.As(err, &e) || passes(err) || refusedToken(err):
		return err
	case slices.Contains(goneCodes, e.Code):
		return front.Gone{Said: saidBy(e), Err: err}
	}
	return saidBy(e)
}

// saidBy is a refusal in words.
func saidBy(e *apiError) chat.Refused {
	if e.Code == 0 { // what stands before Discord
		return chat.Refused{Platform: "Discord", Code: strconv.Itoa(e.Status), Words: strings.ToLower(http.StatusText(e.Status))}
	}
	return chat.Refused{Platform: "Discord", Code: strconv.Itoa(e.Code), Words: saidIn(e)}
}

// plainWords say of some refusals what is to be done about them.
var plainWords = map[int]string{
	200000: "this server's AutoMod blocked it", 200001: "this server's AutoMod blocked it",
	240000: "it holds a link that Discord blocks as harmful", 160005: "the thread is locked",
	20009: "Discord takes it for explicit content", 50006: "the message is empty",
}

func saidIn(e *apiError) string {
	if words := plainWords[e.Code]; words != "" {
		return words
	}
	return strings.TrimRight(strings.ToLower(shorten(chat.Flat(e.Message), 200)), ".")
}
