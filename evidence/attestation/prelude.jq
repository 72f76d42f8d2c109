# What rules are run with. jq's own functions cannot be interrupted while they
# work, and a few lines of jq make a value that unfolds to more than any memory
# holds. So each function that walks its values, or makes much of little, is put
# behind one that measures them first and charges the meter. The original stays
# reachable under a name that rules cannot say.

# Operators; rules' own are rewritten to these. Both sides may have many results:
# the right one is the outer loop, as in jq.
def _attestry_add(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l + $r;
def _attestry_sub(l; r): r as $r | l as $l | _attestry_pairs($l; $r) | $l - $r;
def _attestry_mul(l; r): r as $r | l as $l | _attestry_times($l; $r) | $l * $r;
def _attestry_div(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l / $r;
def _attestry_mod(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l % $r;
def _attestry_eq(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l == $r;
def _attestry_ne(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l != $r;
def _attestry_gt(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l > $r;
def _attestry_lt(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l < $r;
def _attestry_ge(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l >= $r;
def _attestry_le(l; r): r as $r | l as $l | _attestry_ok($l; $r) | $l <= $r;

# Updates, with an eye on the places they write to.
def _attestry_places(l): _attestry_ok | reduce path(l) as $p (.; _attestry_path($p));
def _attestry_assign(l; r): _attestry_places(l) | l = (r | _attestry_ok);
def _attestry_modify(l; f): _attestry_places(l) | l |= (f | _attestry_ok);
def _attestry_upd_alt(l; r): _attestry_places(l) | l //= (r | _attestry_ok);
def _attestry_upd_add(l; r): r as $r | _attestry_modify(l; _attestry_add(.; $r));
def _attestry_upd_sub(l; r): r as $r | _attestry_modify(l; _attestry_sub(.; $r));
def _attestry_upd_mul(l; r): r as $r | _attestry_modify(l; _attestry_mul(.; $r));
def _attestry_upd_div(l; r): r as $r | _attestry_modify(l; _attestry_div(.; $r));
def _attestry_upd_mod(l; r): r as $r | _attestry_modify(l; _attestry_mod(.; $r));

# Functions of the input alone.
def _attestry_f_tojson: tojson;                 def tojson: _attestry_ok | _attestry_f_tojson;
def _attestry_f_tostring: tostring;             def tostring: _attestry_ok | _attestry_f_tostring;
def _attestry_f_fromjson: fromjson;             def fromjson: _attestry_ok | _attestry_f_fromjson | _attestry_ok;
def _attestry_f_tonumber: tonumber;             def tonumber: _attestry_digits | _attestry_f_tonumber;
def _attestry_f_add: add;                       def add: _attestry_ok | _attestry_f_add;
def _attestry_f_sort: sort;                     def sort: _attestry_ok | _attestry_f_sort;
def _attestry_f_unique: unique;                 def unique: _attestry_ok | _attestry_f_unique;
def _attestry_f_min: min;                       def min: _attestry_ok | _attestry_f_min;
def _attestry_f_max: max;                       def max: _attestry_ok | _attestry_f_max;
def _attestry_f_flatten: flatten;               def flatten: _attestry_ok | _attestry_f_flatten;
def _attestry_f_transpose: transpose;           def transpose: _attestry_table | _attestry_f_transpose;
def _attestry_f_implode: implode;               def implode: _attestry_ok | _attestry_f_implode;
def _attestry_f_explode: explode;               def explode: _attestry_ok | _attestry_f_explode;
def _attestry_f_length: length;                 def length: _attestry_slice | _attestry_f_length;
def _attestry_f_reverse: reverse;               def reverse: _attestry_iter | _attestry_f_reverse;
def _attestry_f_keys: keys;                     def keys: _attestry_iter | _attestry_f_keys;
def _attestry_f_ascii_downcase: ascii_downcase; def ascii_downcase: _attestry_ok | _attestry_f_ascii_downcase;
def _attestry_f_ascii_upcase: ascii_upcase;     def ascii_upcase: _attestry_ok | _attestry_f_ascii_upcase;
def _attestry_f_trim: trim;                     def trim: _attestry_ok | _attestry_f_trim;
def _attestry_f_ltrim: ltrim;                   def ltrim: _attestry_ok | _attestry_f_ltrim;
def _attestry_f_rtrim: rtrim;                   def rtrim: _attestry_ok | _attestry_f_rtrim;
def _attestry_f_to_entries: to_entries;         def to_entries: _attestry_iter | _attestry_f_to_entries;
def _attestry_f_from_entries: from_entries;     def from_entries: _attestry_ok | _attestry_f_from_entries;
def _attestry_f_any: any;                       def any: _attestry_iter | _attestry_f_any;
def _attestry_f_all: all;                       def all: _attestry_iter | _attestry_f_all;

# Functions of values.
def _attestry_f_flatten($d): flatten($d);       def flatten($d): _attestry_ok | _attestry_f_flatten($d);
def _attestry_f_join($s): join($s);             def join($s): _attestry_join($s) | _attestry_f_join($s);
def _attestry_f_split($s): split($s);           def split($s): _attestry_ok($s) | _attestry_f_split($s);
def _attestry_f_contains($x): contains($x);     def contains($x): _attestry_pairs(.; $x) | _attestry_f_contains($x);
def _attestry_f_inside($x): inside($x);         def inside($x): _attestry_pairs(.; $x) | _attestry_f_inside($x);
def _attestry_f_indices($x): indices($x);       def indices($x): _attestry_pairs(.; $x) | _attestry_f_indices($x);
def _attestry_f_index($x): index($x);           def index($x): _attestry_pairs(.; $x) | _attestry_f_index($x);
def _attestry_f_rindex($x): rindex($x);         def rindex($x): _attestry_pairs(.; $x) | _attestry_f_rindex($x);
def _attestry_f_bsearch($x): bsearch($x);       def bsearch($x): _attestry_ok($x) | _attestry_f_bsearch($x);
def _attestry_f_getpath($p): getpath($p);       def getpath($p): _attestry_path($p) | _attestry_f_getpath($p);
def _attestry_f_setpath($p; $v): setpath($p; $v);
def setpath($p; $v): _attestry_ok($v) | _attestry_path($p) | _attestry_f_setpath($p; $v);
def _attestry_f_delpaths($ps): delpaths($ps);   def delpaths($ps): _attestry_ok($ps) | _attestry_f_delpaths($ps);
def _attestry_f_format($f): format($f);         def format($f): _attestry_ok | _attestry_f_format($f);
def _attestry_f_strftime($f): strftime($f);     def strftime($f): _attestry_format($f) | _attestry_f_strftime($f);
def _attestry_f_strflocaltime($f): strflocaltime($f);
def strflocaltime($f): _attestry_format($f) | _attestry_f_strflocaltime($f);
def _attestry_f_strptime($f): strptime($f);     def strptime($f): _attestry_ok($f) | _attestry_f_strptime($f);

# Functions of filters.
def add(f): [f] | add;
def _attestry_f_map(f): map(f);                 def map(f): _attestry_iter | _attestry_f_map(f);
def _attestry_f_map_values(f): map_values(f);   def map_values(f): _attestry_ok | _attestry_f_map_values(f | _attestry_ok);
def _attestry_f_walk(f): walk(f);               def walk(f): _attestry_ok | _attestry_f_walk(f | _attestry_ok);
def with_entries(f): to_entries | map(f) | from_entries;
def _attestry_f_any(f): any(f);                 def any(f): _attestry_iter | _attestry_f_any(f);
def _attestry_f_all(f): all(f);                 def all(f): _attestry_iter | _attestry_f_all(f);
def _attestry_f_sort_by(f): sort_by(f);         def sort_by(f): _attestry_ok | _attestry_f_sort_by(f | _attestry_ok);
def _attestry_f_group_by(f): group_by(f);       def group_by(f): _attestry_ok | _attestry_f_group_by(f | _attestry_ok);
def _attestry_f_unique_by(f): unique_by(f);     def unique_by(f): _attestry_ok | _attestry_f_unique_by(f | _attestry_ok);
def _attestry_f_min_by(f): min_by(f);           def min_by(f): _attestry_ok | _attestry_f_min_by(f | _attestry_ok);
def _attestry_f_max_by(f): max_by(f);           def max_by(f): _attestry_ok | _attestry_f_max_by(f | _attestry_ok);
def _attestry_f_del(f): del(f);                 def del(f): _attestry_ok | _attestry_f_del(f);
def _attestry_f_pick(f): pick(f);               def pick(f): _attestry_places(f) | _attestry_pairs([path(f)]; [path(f)]) | _attestry_f_pick(f);
def _attestry_f_fromstream(f): fromstream(f);   def fromstream(f): _attestry_f_fromstream(f | _attestry_event);
def _attestry_f_IN(s): IN(s);                   def IN(s): _attestry_ok | _attestry_f_IN(s | _attestry_ok);
def _attestry_f_IN(src; s): IN(src; s);         def IN(src; s): _attestry_f_IN(src | _attestry_ok; s | _attestry_ok);
def INDEX(s; f): reduce s as $row ({}; _attestry_iter | .[$row | f | tostring] = $row);
def INDEX(f): INDEX(.[]; f);
def _attestry_f_JOIN($i; f): JOIN($i; f);       def JOIN($i; f): _attestry_f_JOIN($i; f | _attestry_key);
def _attestry_f_JOIN($i; s; f): JOIN($i; s; f); def JOIN($i; s; f): _attestry_f_JOIN($i; s; f | _attestry_key);
def _attestry_f_JOIN($i; s; f; j): JOIN($i; s; f; j);
def JOIN($i; s; f; j): _attestry_f_JOIN($i; s; f | _attestry_key; j);

# Regular expressions.
def _attestry_f_test($re): test($re);           def test($re): _attestry_regex($re; null) | _attestry_f_test($re);
def _attestry_f_test($re; $f): test($re; $f);   def test($re; $f): _attestry_regex($re; $f) | _attestry_f_test($re; $f);
def _attestry_f_match($re): match($re);         def match($re): _attestry_regex($re; null) | _attestry_f_match($re);
def _attestry_f_match($re; $f): match($re; $f); def match($re; $f): _attestry_regex($re; $f) | _attestry_f_match($re; $f);
def _attestry_f_capture($re): capture($re);     def capture($re): _attestry_regex($re; null) | _attestry_f_capture($re);
def _attestry_f_capture($re; $f): capture($re; $f);
def capture($re; $f): _attestry_regex($re; $f) | _attestry_f_capture($re; $f);
def _attestry_f_scan($re): scan($re);           def scan($re): _attestry_regex($re; "g") | _attestry_f_scan($re);
def _attestry_f_scan($re; $f): scan($re; $f);   def scan($re; $f): _attestry_regex($re; "g") | _attestry_f_scan($re; $f);
def _attestry_f_splits($re): splits($re);       def splits($re): _attestry_regex($re; "g") | _attestry_f_splits($re);
def _attestry_f_splits($re; $f): splits($re; $f);
def splits($re; $f): _attestry_regex($re; "g") | _attestry_f_splits($re; $f);
def _attestry_f_split($re; $f): split($re; $f); def split($re; $f): _attestry_regex($re; "g") | _attestry_f_split($re; $f);
def _attestry_f_sub($re; s): sub($re; s);       def sub($re; s): _attestry_regex($re; null) | _attestry_f_sub($re; s | _attestry_ok);
def _attestry_f_sub($re; s; $f): sub($re; s; $f);
def sub($re; s; $f): _attestry_regex($re; $f) | _attestry_f_sub($re; s | _attestry_ok; $f);
def _attestry_f_gsub($re; s): gsub($re; s);     def gsub($re; s): _attestry_regex($re; "g") | _attestry_f_gsub($re; s | _attestry_ok);
def _attestry_f_gsub($re; s; $f): gsub($re; s; $f);
def gsub($re; s; $f): _attestry_regex($re; "g") | _attestry_f_gsub($re; s | _attestry_ok; $f);

.
