// Package pattern compiles the regular expressions of clients within a bound on their total memory. A short text can
// make a large expression: `(x{1,900}y?){1}` is 15 bytes.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"sync/atomic"
)

const (
	// instructionSize is the memory of a compiled instruction, and rangeSize that of a range of characters in the
	// library's tables, in bytes.
	instructionSize = 128
	rangeSize       = 16
	// maxTables is the number of instructions from which on the library makes no tables of ranges.
	maxTables = 2000
	// surplus is the greatest ratio of estimated to actual instructions.
	surplus = 2
)

var (
	// ErrLarge is the error for an expression with too many instructions.
	ErrLarge = errors.New("its repetitions are too large")
	// ErrFull is the error for an expression that exceeds the set's memory.
	ErrFull = errors.New("the regular expressions are too large together")
)

// Pattern is a compiled regular expression.
type Pattern struct {
	*regexp.Regexp
	// Instructions is an upper bound of its instructions, all of which may be executed for each character.
	Instructions int
	last         atomic.Pointer[result]
}

type result struct {
	of    string
	holds bool
}

// Once returns what holds returns about a text. It is not called again for the text of the last call.
func (p *Pattern) Once(text string, holds func() bool) bool {
	last := p.last.Load()
	if last == nil || last.of != text {
		last = &result{text, holds()}
		p.last.Store(last)
	}
	return last.holds
}

// Set compiles expressions that share a bound of memory. Equal expressions are compiled once.
type Set struct {
	maxBytes, maxInstructions int

	compiled map[string]*Pattern
	size     int
	full     bool
}

// NewSet makes a set with at most maxBytes in total, and at most maxInstructions per expression.
func NewSet(maxBytes, maxInstructions int) *Set {
	return &Set{maxBytes: maxBytes, maxInstructions: maxInstructions, compiled: map[string]*Pattern{}}
}

// Size is the estimated memory of the expressions, in bytes.
func (s *Set) Size() int { return s.size }

// Full reports whether an expression did not fit. Then no further one is compiled.
func (s *Set) Full() bool { return s.full }

// Compile is regexp.Compile within the set's bounds, which are checked before compiling.
func (s *Set) Compile(text string) (*Pattern, error) {
	if compiled, ok := s.compiled[text]; ok {
		return compiled, nil
	}
	if s.full {
		return nil, ErrFull
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	instructions, ranges := measure(parsed)
	instructions += 2 // match and fail
	if instructions > surplus*s.maxInstructions {
		return nil, ErrLarge
	}
	s.size += instructions*instructionSize + len(text)
	if instructions < maxTables {
		s.size += ranges * rangeSize
	}
	if s.full = s.size > s.maxBytes; s.full {
		return nil, ErrFull
	}
	if instructions > s.maxInstructions {
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return nil, err
		}
		if len(program.Inst) > s.maxInstructions {
			return nil, ErrLarge
		}
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	s.compiled[text] = &Pattern{Regexp: compiled, Instructions: instructions}
	return s.compiled[text], nil
}

// measure returns upper bounds of an expression's instructions and ranges of characters.
func measure(e *syntax.Regexp) (instructions, ranges int) {
	for _, sub := range e.Sub {
		i, r := measure(sub)
		instructions, ranges = instructions+i, ranges+r
	}
	switch e.Op {
	case syntax.OpLiteral:
		return max(len(e.Rune), 1), len(e.Rune)
	case syntax.OpCharClass:
		return 1, len(e.Rune) / 2
	case syntax.OpCapture, syntax.OpStar:
		return instructions + 2, ranges
	case syntax.OpPlus, syntax.OpQuest:
		return instructions + 1, ranges
	case syntax.OpAlternate:
		return instructions + len(e.Sub), ranges
	case syntax.OpConcat:
		return max(instructions, 1), ranges
	case syntax.OpRepeat:
		// Each copy beyond the minimum is optional, which takes another instruction.
		copies := max(e.Min, e.Max, 1)
		return copies*instructions + max(e.Max-e.Min, 0) + 2, copies * ranges
	default:
		return 1, 0
	}
}
