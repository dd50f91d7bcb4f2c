package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"

	"nod/tools"
)

// hosts decides which addresses fetch may open. It is asked twice: about a URL,
// before anything is looked up (hosts.url), and about every IP address that is
// about to be dialled (hosts.dial). Only the second can be relied on, since a
// name may resolve to anything, and to something else a moment later; the first
// exists to say no early, in better words.
type hosts struct {
	allow, deny []hostPattern
	public      *ssrf.Guardian // addresses that anybody may open
	private     *ssrf.Guardian // the same and those of a private network
	blind       bool           // a proxy dials: dial is not asked
}

// hostPattern is a name with wildcards, one IP address, or a range of them.
type hostPattern struct {
	glob   *regexp.Regexp
	prefix netip.Prefix // of a range; a single address is a name that is matched literally
	exact  bool         // one IP address, written out
	opens  bool         // it names its hosts well enough to open private addresses
	begins bool         // it is the beginning of addresses; anybody can give a name such a beginning
}

// publicPorts are where web servers listen. Any other port of a public host is
// more likely a database or a mail server that a page wants spoken to.
var publicPorts = []uint16{80, 443, 8080, 8443}

// privateV4 and privateV6 are what a pattern that names a host opens. Link-local
// addresses are not among them: that is where clouds keep their credentials.
var (
	privateV4 = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10")
	privateV6 = prefixes("::1/128", "fc00::/7")
)

// metadata are the addresses outside of the link-local ranges at which clouds
// answer with credentials (Amazon over IPv6, Alibaba, Azure).
var metadata = prefixes("fd00:ec2::/32", "100.100.100.200/32", "168.63.129.16/32")

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func newHosts(allow, deny []string) (*hosts, error) {
	h := &hosts{
		public: ssrf.New(ssrf.WithPorts(publicPorts...)),
		private: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(privateV4...),
			ssrf.WithAllowedV6Prefixes(privateV6...)),
	}
	var errs []error
	parse := func(texts []string) (out []hostPattern) {
		for _, text := range texts {
			p, err := parseHostPattern(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("read host pattern %q: %w", text, err))
			}
			out = append(out, p)
		}
		return out
	}
	h.allow, h.deny = parse(allow), parse(deny)
	return h, errors.Join(errs...)
}

func parseHostPattern(text string) (hostPattern, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return hostPattern{prefix: p.Masked(), opens: p.Bits() >= 8}, nil
	}
	text = strings.TrimSuffix(strings.ToLower(strings.Trim(text, "[]")), ".")
	if text == "" {
		return hostPattern{}, errors.New("it is empty")
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		text = ip.Unmap().String()
		return hostPattern{glob: regexp.MustCompile("^" + regexp.QuoteMeta(text) + "$"), exact: true, opens: true}, nil
	}
	if strings.ContainsAny(text, "/ @?#") {
		return hostPattern{}, errors.New("write a host without scheme, port or path")
	}
	wild, begins := strings.Contains(text, "*"), addressBegins.MatchString(text)
	if !wild {
		if ascii, err := idna.Lookup.ToASCII(text); err == nil {
			text = ascii
		}
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
	glob, err := regexp.Compile("^" + pattern + "$")
	return hostPattern{glob: glob, opens: !wild || begins || domain.MatchString(text), begins: begins}, err
}

// Whose the names are that end in two parts is known: theirs who have that domain.
// Where they begin says nothing, but for addresses that are written out.
var (
	domain        = regexp.MustCompile(`\.[^.*]+\.[^.*]+$`)
	addressBegins = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9.*]+$`)
)

// frees says whether private addresses of a host may be opened.
func (p hostPattern) frees(name string) bool {
	if _, err := netip.ParseAddr(name); err != nil && p.begins {
		return false
	}
	return p.opens && p.host(name)
}

// host matches the name, or the address, that stands in a URL.
func (p hostPattern) host(name string) bool { return p.glob != nil && p.glob.MatchString(name) }

// addr matches an address that a name turned out to have.
func (p hostPattern) addr(ip netip.Addr) bool { return p.prefix.IsValid() && p.prefix.Contains(ip) }

// url judges a URL before it is opened, also one that a redirect leads to.
func (h *hosts) url(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return tools.Refuse("only http and https addresses can be fetched, not %q", u.Scheme)
	}
	if u.User != nil {
		return tools.Refuse("addresses with a user name or password in them are not fetched")
	}
	name, err := hostName(u.Hostname())
	if err != nil {
		return err
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return tools.Refuse("%q is no port", port)
		}
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return h.judge(name, netip.AddrPortFrom(ip, portOf(u)))
	}
	if slices.ContainsFunc(h.deny, func(p hostPattern) bool { return p.host(name) }) {
		return tools.Refuse("%s may not be fetched here", name)
	}
	named := func(p hostPattern) bool {
		if h.blind {
			return p.frees(name)
		}
		return p.host(name) || p.prefix.IsValid()
	}
	if (len(h.allow) > 0 || h.blind) && !slices.ContainsFunc(h.allow, named) {
		return tools.Refuse("%s is not among the hosts that may be fetched here", name)
	}
	return nil
}

func portOf(u *url.URL) uint16 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return uint16(n)
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

// hostName brings a host into the form in which it is compared. It refuses the
// spellings of IPv4 addresses that only some resolvers know (0x7f.1,
// 2130706433): there is no honest reason to write one.
func hostName(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String(), nil
	}
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil || name == "" {
		return "", tools.Refuse("%q is no host", host)
	}
	name = strings.ToLower(name)
	if ip, err := netip.ParseAddr(name); err == nil { // full-width digits come out as plain ones
		return ip.Unmap().String(), nil
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789") == "" {
		return "", tools.Refuse("%q is neither a name nor a plainly written IP address", host)
	}
	return name, nil
}

// dial judges an address about to be dialled for a host, and has the last word.
func (h *hosts) dial(host, address string) error {
	name, err := hostName(host)
	if err != nil {
		return err
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return tools.Refuse("%s leads to no address that can be opened", name)
	}
	return h.judge(name, target)
}

func (h *hosts) judge(name string, target netip.AddrPort) error {
	ip := target.Addr().Unmap()
	denied := func(p hostPattern) bool { return p.host(name) || p.addr(ip) || p.host(ip.String()) }
	if slices.ContainsFunc(h.deny, denied) {
		return tools.Refuse("%s may not be fetched here", name)
	}
	allowed := func(p hostPattern) bool { return p.host(name) || p.addr(ip) }
	if len(h.allow) > 0 && !slices.ContainsFunc(h.allow, allowed) {
		return tools.Refuse("%s is not among the hosts that may be fetched here", name)
	}
	if slices.ContainsFunc(h.allow, func(p hostPattern) bool { return p.opens && (p.addr(ip) || p.exact && p.host(name)) }) {
		return nil // the address itself was allowed
	}
	if slices.ContainsFunc(metadata, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return private(name, ip)
	}
	guard := h.public
	if slices.ContainsFunc(h.allow, func(p hostPattern) bool { return p.frees(name) }) {
		guard = h.private
	}
	err := guard.Safe(network(ip), net.JoinHostPort(ip.String(), strconv.Itoa(int(target.Port()))), nil)
	if errors.Is(err, ssrf.ErrProhibitedPort) {
		return tools.Refuse("port %d is not fetched; web servers listen on %s", target.Port(),
			strings.Trim(strings.ReplaceAll(fmt.Sprint(publicPorts), " ", ", "), "[]"))
	}
	if err != nil {
		return private(name, ip)
	}
	return nil
}

func private(name string, ip netip.Addr) error {
	if name == ip.String() {
		return tools.Refuse("%s is not an address of the public internet, and was not allowed here by name", name)
	}
	return tools.Refuse("%s leads to %s, which is not an address of the public internet, and was not allowed here by name", name, ip)
}

func network(ip netip.Addr) string {
	if ip.Is4() {
		return "tcp4"
	}
	return "tcp6"
}
