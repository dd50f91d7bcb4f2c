// Package web is what tools share that ask servers. There are two kinds, and they
// never mix: an [API] at an address that an operator configured, and a [Client] for
// addresses that anybody may have written, which opens only what its rules let
// through.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/time/rate"
)

// API is a service on the web that answers in JSON, at an address that an
// operator configured: it may be on a private network, and behind a proxy.
type API struct {
	Client *http.Client
	Most   int64 // bytes of an answer that are read

	name  string // for the model and the operator
	limit *rate.Limiter
}

const (
	// AnswerMost is how many bytes of an answer are read where nothing else is said.
	AnswerMost = 4 << 20
	// faultMost is how many bytes of an answer that tells of a fault are.
	faultMost = 16 << 10
)

// NewAPI makes a service that is asked up to perSecond times in a second.
func NewAPI(name string, perSecond float64) *API {
	return &API{
		name: name, limit: rate.NewLimiter(rate.Limit(perSecond), 5), Most: AnswerMost,
		Client: &http.Client{Timeout: 20 * time.Second, CheckRedirect: sameHost},
	}
}

// Through has a proxy used in place of that of the environment, but for hosts that
// NO_PROXY names, and this one. nil changes nothing.
func (a *API) Through(proxy *url.URL) {
	t, ok := http.DefaultTransport.(*http.Transport)
	if proxy == nil || !ok {
		return
	}
	from := httpproxy.FromEnvironment()
	from.HTTPProxy, from.HTTPSProxy = proxy.String(), proxy.String()
	choose := from.ProxyFunc()
	t = t.Clone()
	t.Proxy = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
	a.Client.Transport = t
}

// WithQuery is an address with parameters, beside others that it may have.
func WithQuery(u url.URL, more url.Values) string {
	query := u.Query()
	for key := range more {
		query.Set(key, more.Get(key))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// sameHost keeps a request, which may hold a key, on the host that it was for.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > 3 || req.URL.Host != via[0].URL.Host || via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// Fault is a service that did not answer as it should. Words are for the
// model; the rest is for the operator, and holds nothing of the question.
type Fault struct {
	Words  string
	Status int    // of HTTP; 0: there was no answer, or not a usable one
	Body   []byte // the beginning of the answer with that status; not for the operator
	Cause  error
}

// Error implements error.
func (e *Fault) Error() string {
	switch {
	case e.Status != 0:
		return fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	case e.Cause != nil:
		return e.Cause.Error()
	}
	return e.Words
}

// Unwrap gives the cause.
func (e *Fault) Unwrap() error { return e.Cause }

// Ask sends a request and reads the answer into out. Every error is an
// *[Fault].
func (a *API) Ask(req *http.Request, out any) error {
	ctx := req.Context()
	if err := a.limit.Wait(ctx); err != nil {
		return &Fault{Words: "too many calls at once; wait a little", Cause: err}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	resp, err := a.Client.Do(req)
	if err != nil {
		return a.broken(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return a.status(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, a.Most+1))
	switch {
	case err != nil:
		return a.broken(ctx, err)
	case int64(len(body)) > a.Most:
		return &Fault{Words: a.name + " gave an answer that is too long; ask for less", Cause: errors.New("the answer is too long")}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &Fault{
			Words: a.name + " gave an answer that makes no sense; an operator has to look at its address in the configuration",
			Cause: errors.New("the answer is not the JSON that was expected; check api_url"),
		}
	}
	return nil
}

func (a *API) status(resp *http.Response) error {
	code := resp.StatusCode
	body, err := io.ReadAll(io.LimitReader(resp.Body, faultMost))
	if err != nil {
		body = nil // the status says enough
	}
	e := &Fault{Status: code, Body: body, Words: fmt.Sprintf("%s answers %d %s", a.name, code, http.StatusText(code))}
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		e.Words = a.name + " does not let this program in; an operator has to check its key. Do without it"
	case code == http.StatusTooManyRequests:
		e.Words = a.name + " says that it was asked too often; wait, or do without it"
	case code >= 500:
		e.Words += "; it has trouble of its own: try later, or do without it"
	}
	return e
}

// broken explains a connection that failed. The error of the http package is
// taken apart, since it repeats the address with the question in it.
func (a *API) broken(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	words := a.name + " cannot be reached; try later, or do without it"
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		words = a.name + " does not answer in time; try later, or do without it"
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		words = "the call was stopped"
	}
	return &Fault{Words: words, Cause: err}
}
