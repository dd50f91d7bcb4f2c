package calculator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of an expression.
const (
	maxExpression = 1000 // bytes
	maxNesting    = 50   // parentheses
)

// How tightly operators bind, loosest first.
const (
	bindsSum = iota + 1
	bindsProduct
	bindsSign
	bindsPower
)

// operation calculates with the arguments of a function or an operator.
type operation func(x ...*number) *number

// operator stands between two operands, or before one where it has a sign.
type operator struct {
	binds int
	apply operation
	sign  operation
	right *number // the right operand, if the operator brings it along
}

var (
	plus      = operator{binds: bindsSum, apply: add, sign: func(x ...*number) *number { return x[0] }}
	minus     = operator{binds: bindsSum, apply: subtract, sign: negate}
	times     = operator{binds: bindsProduct, apply: multiply}
	over      = operator{binds: bindsProduct, apply: divide}
	modulo    = operator{binds: bindsProduct, apply: remainder}
	percentOf = operator{binds: bindsProduct, apply: percent}
	raised    = operator{binds: bindsPower, apply: power}
	// operators holds them by all the signs in which people write them.
	operators = map[rune]operator{
		'+': plus, '-': minus, '−': minus, '–': minus, '*': times, '×': times, '·': times, '⋅': times, '∙': times,
		'/': over, '÷': over, '∕': over, '%': modulo, '^': raised,
		'²': {binds: bindsPower, apply: power, right: integer(2)}, '³': {binds: bindsPower, apply: power, right: integer(3)},
	}
)

var (
	numberPattern    = regexp.MustCompile(`^(?:\d[\d_]*(?:\.\d[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?`)
	thousandsPattern = regexp.MustCompile(`^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?`)
	namePattern      = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9_]*|π|√)`)
	percentOfPattern = regexp.MustCompile(`(?i)^%\s*of\b`)
)

// parser reads an expression by precedence climbing, and calculates as it reads.
// It knows arithmetic and refuses all else.
type parser struct {
	stopped func() error
	text    string
	pos     int
	nesting int  // open parentheses
	inCall  bool // the innermost one is a function's
}

// calculate evaluates an expression.
func calculate(ctx context.Context, text string) (*number, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("it is longer than %d bytes; calculate it in parts", maxExpression)
	}
	p := parser{stopped: ctx.Err, text: strings.TrimRight(text, "= \t\r\n")}
	if p.next() == "" {
		return nil, errors.New("it is empty")
	}
	return p.expression(bindsSum)
}

// next skips spaces, and gives the text from there on.
func (p *parser) next() string {
	rest := strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace)
	p.pos = len(p.text) - len(rest)
	return rest
}

// takes skips a sign if it comes next.
func (p *parser) takes(sign string) bool {
	if !strings.HasPrefix(p.next(), sign) {
		return false
	}
	p.pos += len(sign)
	return true
}

// expression calculates up to the first operator that binds more loosely.
func (p *parser) expression(least int) (*number, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	return p.onwards(left, least)
}

// onwards is expression with the first operand already read.
func (p *parser) onwards(left *number, least int) (*number, error) {
	for {
		op, written, err := p.infix()
		if err != nil || op.binds < least {
			return left, err
		}
		p.pos += len(written)
		tighter := op.binds + 1
		if op.binds == bindsPower { // 2^3^2 is 2^(3^2)
			tighter = bindsPower
		}
		right := op.right
		if right != nil {
			right, err = p.onwards(right, tighter)
		} else {
			right, err = p.expression(tighter)
		}
		if err != nil {
			return nil, err
		}
		if err = p.stopped(); err != nil {
			return nil, err
		}
		if left = op.apply(left, right); left.err != nil {
			return nil, left.err
		}
	}
}

// infix finds the operator behind an operand. At the end of the text, an argument or a
// parenthesis it finds one that binds nothing.
func (p *parser) infix() (operator, string, error) {
	rest := p.next()
	switch {
	case rest == "":
		return operator{}, "", nil
	case rest[0] == ')' || rest[0] == ',':
		return operator{}, "", p.misplaced(rest[0])
	case rest[0] == '(':
		return operator{}, "", missing("(")
	case rest[0] == '.' || rest[0] >= '0' && rest[0] <= '9':
		written, err := p.digits(rest)
		if err == nil {
			err = missing(written)
		}
		return operator{}, "", err
	}
	if name := namePattern.FindString(rest); name != "" {
		return operator{}, "", missing(name)
	}
	return readOperator(rest)
}

func missing(before string) error {
	return fmt.Errorf("an operator is missing before %q", before)
}

// misplaced refuses a comma or a closing parenthesis that belongs to nothing.
func (p *parser) misplaced(sign byte) error {
	switch {
	case sign == ')' && p.nesting == 0:
		return errors.New("there is a closing parenthesis too many")
	case sign == ',' && !p.inCall:
		return errors.New("a comma stands only between the arguments of a function or between thousands; the decimal sign is a point")
	}
	return nil
}

// readOperator reads the operator with which a text begins.
func readOperator(text string) (op operator, written string, err error) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case strings.HasPrefix(text, "//"):
		return op, "", errors.New("there is no //; write floor(a / b)")
	case strings.HasPrefix(text, "**"):
		return raised, "**", nil
	case r == '!':
		return op, "", errors.New("there is no !; write factorial(n)")
	case unicode.Is(unicode.Sc, r):
		return op, "", fmt.Errorf("leave out the currency sign %q", string(r))
	}
	if written = percentOfPattern.FindString(text); written != "" {
		return percentOf, written, nil
	}
	op, ok := operators[r]
	if !ok {
		return op, "", fmt.Errorf("%q is not understood; only arithmetic is", string(r))
	}
	return op, text[:size], nil
}

// operand reads a number, a name, a call, a parenthesis, or one with a sign.
func (p *parser) operand() (*number, error) {
	rest := p.next()
	switch {
	case rest == "":
		return nil, errors.New("it ends too early")
	case rest[0] == '.' || rest[0] >= '0' && rest[0] <= '9':
		written, err := p.digits(rest)
		if err != nil {
			return nil, err
		}
		p.pos += len(written)
		return parseNumber(strings.NewReplacer(",", "", "_", "").Replace(written))
	case rest[0] == '(':
		x, err := p.parenthesis(false)
		if err != nil {
			return nil, err
		}
		return x[0], nil
	case rest[0] == ')' || rest[0] == ',':
		if err := p.misplaced(rest[0]); err != nil {
			return nil, err
		}
		return nil, p.unreadable(rest[:1])
	}
	if name := namePattern.FindString(rest); name != "" {
		p.pos += len(name)
		return p.named(strings.ToLower(name))
	}
	op, written, err := readOperator(rest)
	if err != nil {
		return nil, err
	}
	if op.sign == nil {
		return nil, p.unreadable(written)
	}
	p.pos += len(written)
	x, err := p.expression(bindsSign)
	if err != nil {
		return nil, err
	}
	return op.sign(x), nil
}

func (p *parser) unreadable(written string) error {
	return fmt.Errorf("it cannot be read from character %d on, at %q", utf8.RuneCountInString(p.text[:p.pos])+1, written)
}

// digits finds the number with which a text begins, with commas between
// thousands where they are no commas between arguments.
func (p *parser) digits(text string) (string, error) {
	written := numberPattern.FindString(text)
	if written == "" {
		return "", errors.New("a point without digits behind it is no number")
	}
	t := thousandsPattern.FindString(text)
	if t == "" || len(t) < len(text) && strings.IndexByte("0123456789_.", text[len(t)]) >= 0 {
		return written, nil
	}
	if p.inCall {
		return "", fmt.Errorf("%q could be one number or several; write thousands without commas, and a space behind the commas between arguments", t)
	}
	return t, nil
}

// named gives a constant, or calls a function.
func (p *parser) named(name string) (*number, error) {
	switch name {
	case "π":
		name = "pi"
	case "√":
		name = "sqrt"
	}
	if n, ok := constants[name]; ok {
		return n, nil
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("there is no %q; there are %s", name, knownNames)
	}
	if !strings.HasPrefix(p.next(), "(") {
		return nil, fmt.Errorf("%s is a function; write its argument in parentheses, %s(…)", name, name)
	}
	x, err := p.parenthesis(true)
	if err != nil {
		return nil, err
	}
	if err := p.stopped(); err != nil {
		return nil, err
	}
	return f.call(name, x)
}

// parenthesis reads one expression in parentheses, or a call's arguments.
func (p *parser) parenthesis(call bool) ([]*number, error) {
	if p.nesting == maxNesting {
		return nil, fmt.Errorf("it has more than %d parentheses within each other; calculate it in parts", maxNesting)
	}
	defer func(outer bool) { p.nesting, p.inCall = p.nesting-1, outer }(p.inCall)
	p.nesting, p.inCall, p.pos = p.nesting+1, call, p.pos+1
	var x []*number
	for !call || !p.takes(")") { // also behind a last comma, which does no harm
		n, err := p.expression(bindsSum)
		if err != nil {
			return nil, err
		}
		x = append(x, n)
		if p.takes(")") {
			return x, nil
		}
		if !p.takes(",") {
			return nil, errors.New("a closing parenthesis is missing")
		}
	}
	return x, nil
}
