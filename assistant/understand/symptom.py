"""The kind of trouble a text tells of: slow, hang, crash, jitter or question.

People mix them up, so every word is only a cue with a weight. What is denied ("no errors", "it does not crash") does not
count, nor what is past ("after weeks of hangs"), nor what is told of a remedy or an experiment ("with debugging on it
crashes instead"). A hang that ends in a timeout is a hang; a rendezvous or a start that times out is a crash.
"""

from __future__ import annotations

from assistant.understand.dismissed import guess_spans
from assistant.understand.text import clause_at, negated, regex

_RATE = r"\d\s*(?:k|m)?\s*(?:g(?:b|ib)?(?:it)?s?/s(?:ec)?|m(?:b|ib)?(?:it)?s?/s(?:ec)?|gbps|mbps|it/s|s/it|iter(?:ation)?s?/s|tflops?|(?:samples?|images?|img|tokens?|sentences?|steps?|seqs?|sequences?)\s*(?:/|per|a|an|each)\s*s(?:ec(?:ond)?)?)"

#: "at 200 W", "around 50 %": the figure of a gauge. 0 and 100 % are what a hang shows, so they are not meant.
_FIGURE = (
    r" (?:about |around |only |just |roughly |~)*(?!0 ?%|100 ?%)\d+(?:\.\d+)? ?"
    r"(?:%|per ?cent|w\b|watts?|[mg]hz|[mgt]i?b|gbit|it/s|s/it|tflops|gb/s|x\b|fps)"
)
#: Words for a slow-down from which a run comes back by itself.
_RETURNS = r"\b(?:goes on|went on|continues|recovers?|recovered|resumes?|resumed|picks up|gets back|comes back|back to (?:normal|full|the old|its))\b"

#: Cues by symptom: (weight, pattern).
CUES: dict[str, tuple[tuple[float, str], ...]] = {
    "crash": (
        (2.2, r"\b(?:ends|stops|exits|leaves) (?:like this|at once|right away|immediately|before the (?:first|very first) step|in the first second|as soon as)\b|\bas soon as [^.?!]{3,60} it ends\b|\brefuses to (?:join|start|run|load)\b"),
        (3.0, r"\bcrash(?:es|ed|ing|-loops?|loop\w*)?\b|\bcore dump|\bsegfault|\bseg(?:mentation)? ?fault|\bsig(?:kill|segv|bus|abrt|term)\b|\bbus error"),
        (3.0, r"\b(?:dies|died|dying|aborts?|aborted|aborting|blows? up|blew up|falls? over|bails? out|bombs? out|(?<!loss )goes down(?! (?:by|to|from|with)\b)|(?<!loss )went down(?! (?:by|to|from|with)\b)|was gone|(?<!speedup )(?<!speed-up )(?<!gain )(?<!advantage )(?<!improvement )(?<!performance )(?:is|are) gone|disappear(?:s|ed)?|(?<!nearly )(?<!almost )vanish(?:es|ed)?|drops? out|dropped out|stops? cold)\b"),
        (3.0, r"\b(?:killed|terminated|gets? terminated|terminates|kicked out|evicted|exits? with|exited|exit ?code|quits?)\b"),
        (2.5, r"\b(?:raises?|raised|throws?|threw|traceback|exception|stack ?trace|runtimeerror|assertion)\b|\b\w+Error\b"),
        (2.6, r"\b(?:others?|they|all|ranks?|workers?|process(?:es)?|jobs|nodes|peers|rest|both)(?: \w+)? die\b"),
        (2.5, r"\bfail(?:s|ed|ing|ure|ures)?\b|\bbroken pipe\b|\bout of memory\b|\boom\b"),
        (2.0, r"\berrors?\b|\berroring\b|\bcomplain(?:s|t|ing)\b"),
        (2.0, r"\b(?:ends?|ended|stops?|stopped|finish(?:es)?)\b(?: \w+){0,3}? (?:with|in)\b(?! (?:about|around|\d))"),
        (2.0, r"\b(?:refuses? to|can(?:'?t|not)|could ?n[o']t|unable to|won'?t|doesn'?t|does not|not able to)(?: \w+)? (?:start|initiali[sz]e|init|connect|reach|load|open|find|bind|launch|join|come up|work|boot|run)\b"),
        (2.5, r"\b(?:gives? up|gave up|times? out|timed out|timing out|timeouts?|time-outs?)\b"),
        (2.0, r"\bconnection (?:refused|reset|closed|abort\w*)|\bclosed connections?\b|\brefused\b|\bunreachable\b|\bno route to host|\baddress (?:is )?already in use|\bport\b.{0,20}\b(?:taken|in use|held|busy)|\bholding (?:that|the|this) port|\bis ?n[o']t there\b"),
        (2.5, r"\b(?:can(?:'?t|not)|could ?n[o']t|unable to|fails? to|won'?t|will not|no longer)(?: \w+){0,2} (?:import(?:ed)?|be (?:found|loaded|started|created|initiali[sz]ed|reached|launched)|get started|come up)\b|\b(?:does ?n[o']t|do ?n[o']t) (?:get started|come up)\b"),
        (2.5, r"\b(?:sees?|finds?|detects?|recogni[sz]es?|shows?) (?:no|none of (?:the|my|our)|zero) (?:\w+ )?(?:gpus?|cards?|devices?|cuda)\b|\b(?:neither|no longer|not|can(?:'?t|not)|n't)\b[^.?!]{0,40}\b(?:sees?|finds?|detects?) (?:a|any|the|my|our) (?:\w+ )?(?:gpus?|cards?|devices?)\b"),
        (2.8, r"\boom-?kill\w*|\brestart(?:s|ed|ing)? (?:again and again|over and over|in a loop|all the time)|\btorn down\b|\b(?:fallen|fell|falls) off\b|\b(?:worker|rank|node|process|pod|host)s? ?\d* (?:was|is|got|has been|were|are) (?:lost|dead|killed)\b|\btraining (?:was|is) (?:over|dead)\b|\b(?:is_available|device_count)\b.{0,20}\b(?:false|0|zero)\b"),
        (2.0, r"\bno such file\b|\b(?:command|module|device|file|library) not found\b|\b(?:driver|version|library)\b.{0,30}\b(?:too old|mismatch)|\b(?:job|run) (?:was|is) over\b|\brebooted by itself\b|\bnothing (?:new )?starts\b"),
        (1.6, r"\b(?:i|we) (?:always |now |just |only |then )?(?:get|see|got|have) [\"'“`‘]\w"),
        (2.5, r"\b(?:ends?|ended) (?:at|in|during|before|exactly after|right after) (?:the |a |its |each |every )?(?:first|second|third|save|saving|checkpoint|eval\w*|validation|start)\b|\bends? (?:without|by itself|abruptly|silently|prematurely|early|suddenly)\b|\bended (?:without|abruptly|silently|prematurely|early|suddenly)\b"),
        (1.5, r"\bstops? (?:right|at|in|just|immediately|after|on|during|while|when|before)\b|\bstopped (?:right|at|in|just|after|during)\b|\bsystem error|\binternal error|\binvalid usage|\bunhandled"),
        (1.0, r"\bi (?:always |now |just |only )?(?:get|see|got) (?:this|the following|these)\b|\boutput (?:below|attached)|\bsee (?:the )?(?:trace|below)"),
        (2.5, r"\b(?:pods?|containers?|jobs?|process(?:es)?|workers?|programs?)\b(?: \w+){0,5} (?:no longer|do(?:es)?(?: not|n't)|not) start\b|\bno (?:job|process|program|container|one)s? (?:\w+ ){0,2}(?:finds?|sees?|gets?) (?:a|any|the) (?:gpu|device|card)|\bthere (?:is|are) no (?:gpus?|cuda|devices?)\b|\bre-?queued\b|\blost (?:a|the|my|our|this) (?:\w+ )?(?:run|job|training)\b"),
        (1.6, r"\b(?:and|then|now|i|we) (?:i |we )?(?:always |now |just |only )?(?:get|got) this(?: (?:before|when|error|message)\b|[,.:;])|\b(?:can(?:'?t|not)|could ?n[o']t) bring up\b|\b(?:everything|all|it) aborts\b"),
        (1.8, r"\bnothing (?:that uses|with|using) [^.?!]{1,30}\bstarts\b|\btakes no jobs?\b|\b(?:one|it|rank \d+|the second|the other)(?: \w+)? refuses\b|\bcan(?:'?t|not) communicate\b"),
        (2.0, r"\bbreaks? (?:in|at|during|while|when|off)\b|\brefuses? (?:clients?|connections?)\b|\bcan(?:'?t|not) (?:\w+ )?(?:compile|register|allocate|be created)\b"),
        (1.8, r"\bbreaks?\b(?! (?:even|down|the symmetry|it up|up))|\bthrown out\b|\bthrows? (?:\w+ ){1,2}out\b|\bloss (?:is|becomes|turns|goes) (?:to )?nan\b|\bwrong (?:results?|values?)\b|\brefuses (?:its|the|our|my)\b|\b(?:init\w*|registration|set-?up|import) (?:\w+ ){0,3}(?:stops|does ?n[o']t (?:go|work))\b"),
        (1.0, r"\bgets? no gpu|\bnothing new .{0,40}gets|\bdoes ?n[o']t work\b|\bbroken\b|\bnodes? (?:was|were|is) lost\b|\brank \d+ (?:is|was) (?:lost|dead)\b"),
    ),
    "hang": (
        (2.5, r"\b(?:machines?|nodes?|hosts?|workers?|servers?|pods?|both|ranks?)(?: \d+)? (?:then |just |only |all )?(?:keeps? )?wait(?:s|ing)?\b(?! time)|\bnever (?:goes|gets|comes|went|got) (?:past|beyond|further|through)\b(?! (?:one|about|\d))|\bwaits? (?:until|without end|endlessly|in vain)\b"),
        (3.2, r"\bhang(?:s|ing)?\b|\bhung\b|\bstuck\b(?! (?:at|around|below|on)" + _FIGURE + r")|\bfreez(?:e|es|ing)\b|\bfrozen?\b(?! (?:\w+ )?(?:encoder|backbone|layers?|weights|param\w*|models?|network|parts?|base|bert|vae|unet|teacher|embedding\w*|llm|stem)\b)|\bdead-?locks?(?:ed)?\b|\blive-?lock|\bwedged\b|\block(?:s|ed)? up\b"),
        (3.0, r"\bnever (?:\w+ )?(?:returns?|comes? back|goes on|continues?|finish(?:es)?|ends?|gets? past(?! (?:one|\d))|reach(?:es)?|completes?|proceeds?|leaves?|progress(?:es)?|moves?|exits?|arrives?)\b"),
        (1.5, r"\bnever (?:\w+ )?(?:starts?|begins?|gets? started|gets? going)\b|\bwon'?t (?:start|begin|move|continue|proceed|finish)\b"),
        (2.8, r"\bstands? (?:after|at|in|near|before|there|forever|for ?ever) (?:the|a|its|an|every|each|some|\d|about)\b|\bthen (?:it |the job )?stands\b|\bstands forever\b|\bstands? (?:\w+ )?near the end\b"),
        (3.0, r"\bstands? still\b|\bstood still\b|\bstandstill\b|\bsilent since\b|\bbeen silent\b|\bgoes silent\b|\bwent silent\b|\bgoes quiet\b|\bfalls silent|\bcomes? to a (?:halt|stop)\b"),
        (2.6, r"\bhalts?\b|\bhalted\b|\bstall(?:s|ed|ing)?\b|\bblock(?:s|ed) (?:forever|indefinitely|there|in|at|on)\b|\bsits? (?:there|in|idle|waiting)\b|\b(?:sits?|sitting) at\b(?!" + _FIGURE + r")|\bjust sits\b|\bsat there\b|\bsitting (?:there|in)\b"),
        (3.0, r"\bwait(?:s|ing|ed)? (?:forever|indefinitely|endlessly|for ?ever|for hours)\b|\bforever\b(?! to (?:load|start))|\bfor hours with(?:out| no)\b|\bindefinitely\b"),
        (3.0, r"\bno (?:further |more |visible |real )?progress\b|\b(?:doesn'?t|does not|do not|don'?t|didn'?t|isn'?t|not|stop(?:s|ped)?|ceases?(?: to)?|without) (?:make |making )?(?:any )?progress(?:ing)?\b"),
        (2.6, r"\bnothing (?:more |else |further |ever )?(?:happens?|happened|moves?|is printed|gets printed|comes|appears|is logged)\b|\bno (?:further |more )?output\b|\bno (?:new )?(?:log )?lines?\b|\bno bytes? move|\bstops? (?:printing|logging|responding|training|moving|advancing|outputting)\b|\bstopped (?:printing|logging|responding|moving)\b"),
        (3.0, r"\b(?:does|do|did|will|would) ?(?:n'?t|not) (?:ever )?(?:return|move on|advance|proceed|continue|go on|get past(?! (?:one|\d))|get beyond|come back|finish|get any further|go any further)\b|\bneither .{0,60}gets? past\b"),
        (3.0, r"\b(?:is|was) the last (?:thing|line|message|output)\b|\blast (?:thing|line|message) (?:i|we|it|that)\b|(?<!takes )\bfor ever\b|\bstop(?:s|ped)? (?:for good|dead|forever|moving|there)\b|\bnever gets? (?:its|the|a|any) \w+|\buntil the time ?limit\b|\bmessages? (?:seem to )?get lost\b|\bstands? for (?:ever|hours|minutes)\b|\bno timeout\b"),
        (2.4, r"\bstop(?:s|ped)?\b[^.?!]{0,80}\bwithout (?:any |an? |the )?(?:error|message|output|trace\w*|word)|\bunresponsive\b|\bctrl[- ]?c has no effect\b|\b(?:does ?n[o']t|do ?n[o']t|not) respond\b"),
        (3.4, r"\bstop(?:s|ped)?\b(?! (?:it|the|them)\b)[^?!]{0,160}\b(?:watchdog|times? out|timed out|(?:nccl|collective) time-?out|after (?:half an hour|\d+ minutes))\b"),
        (2.8, r"\bnever (?:gets?|got|comes?|came|makes? it|made it) (?:there|that far|so far|as far|to (?:the|that|this|its))\b|\b(?:the )?(?:first|second|others?|rest|remaining|last)(?: ones?| nodes?| pods?| machines?)? (?:just |only |simply |then )?(?:keeps? )?wait(?:s|ing)? (?:for|there|in)\b|\bstays? (?:in|at) (?:that|this|the same) (?:state|line|point|place)\b"),
        (2.6, r"\b(?:and|then|after that|afterwards)[ ,]+(?:there is |comes )?nothing\b(?! (?:changed|changes|new|helped|helps|about|was|is wrong|for (?:a|one|some|a few) (?:m?s|seconds?|moments?|blink)))|\bstays? (?:at|on|in) [\"'“`‘]|\bnever (?:\w+ )?(?:joins?|appears?|shows? up|connects?|answers?|comes?(?! to))\b|\bstands since\b|\bsits? for (?:half|an?|\d+|hours|minutes|some|several)\b|\b(?:and|then|just|only) waits?\s*[.!]"),
        (2.6, r"\bstays? silent\b|\bprints? nothing (?:any ?more|more|else|further)?\b|\bnever gets? (?:any )?further\b|\bno longer gets? (?:beyond|past|further)\b|\bdoes ?n[o']t get (?:any )?(?:further|beyond)\b"),
        (1.2, r"\bspin(?:s|ning)?\b.{0,25}100|\bstill \"?running\"?|\bhave to kill\b|\bneed to kill\b|\bctrl[- ]?c\b|\bwaits? for\b|\bthen waits?\b|\bthe others? (?:just )?waits?\b|\bstate d\b|\bwatchdog\b"),
    ),
    "slow": (
        (3.0, r"\bslow(?:s|er|est|ly|ness|down|downs|ed)?\b(?! (?:link|network|interconnect|ethernet|connection|fabric)s?\b)|\bcrawl(?:s|ing|ed)?\b|\bsluggish\b|\bsnail|\bpainful(?:ly)? long\b|\btakes? (?:ages|forever|for ever|an eternity)\b"),
        (2.4, r"\b(?:no|not|hardly|barely|scarcely|isn'?t|n't(?: \w+)?) (?:any |much |really )?(?:faster|quicker|speed-?up|speedup|gain)\b|\b(?:same|equal) (?:total )?(?:speed|throughput|time)\b|\bgives? (?:me |us )?nothing\b|\bbrings? (?:me |us )?(?:nothing|little)\b|\bdoes ?n[o']t (?:help|pay|scale)\b|\bworth it\b|\bno benefit\b"),
        (2.0, r"\bspeed\b|\bspeed-?ups?\b|\bthroughput\b|\bscal(?:es|ing|ability|e)\b|\bperformance\b|\bbandwidth\b|\bbus ?bw\b|\balg ?bw\b|\befficien(?:cy|t)\b|\bmfu\b|\butili[sz]ation is low\b|\bunder-?perform\w*|\bregress(?:ion|ed|es)\b|\bbottleneck\w*|\bsaturated\b|\boverhead\b"),
        (1.6, _RATE),
        (2.2, r"\b(?:falls?|fell|drops?|dropped|sinks?|sank|declin(?:es|ed)|decreas(?:es|ed)|degrad(?:es|ed|ing|ation)|goes|went|collapse[sd]?|plummet(?:s|ed)?)\b.{0,30}(?:from|to|by)\b.{0,20}(?:\d|half|third|quarter|fifth|tenth)"),
        (2.0, r"\btakes?\b.{0,30}\b(?:longer|\d+(?:\.\d+)?\s*(?:x|times|seconds?|secs?|s|minutes?|mins?|hours?|h|days?)|two|three|four|five|six|seven|twice|double)\b|\btook\b.{0,30}\b(?:hours?|days?|minutes?|seconds?|longer)\b|\bneeds?\b.{0,12}\d+(?:\.\d+)? ?(?:s|sec\w*|minutes?|hours?)\b|\btwice as (?:long|slow)|\b(?:two|three|four|five|ten|\d+) times (?:as long|longer|slower|the time)\b|\bstep time\b.{0,20}(?:is|of|up|grow|increas|from)"),
        (2.0, r"\b(?:half(?![- ](?:an? )?(?:hour|minute|day|year|second)\b)|a (?:third|quarter|fifth|tenth|fraction))\b (?:of )?(?:the |what |its |that )?|\bhalf as fast\b|\bonly (?:about |around |some |ever )?\d+(?:\.\d+)? ?(?:%|percent|per cent)|\bexpect(?:ed)? (?:\w+ ){0,3}(?:above|more|at least|around|about|\d)"),
        (1.0, r"\bgpus? .{0,25}\b(?:idle|starv\w+|wait\w*|low)\b|\bunder-?utili[sz]ed\b|\bno errors?\b|\bno crash\b|\bburn\w*|\btuning? (?:for|of) speed|\bparameters should i tune\b|\ball this box can do\b|\bwaste[sd]?\b|\bused to (?:take|get|be|run)\b"),
        (2.0, r"\b(?:\d+(?:\.\d+)?|two|three|four|five|ten|several|many) ?(?:x|times) faster\b|\bcollaps(?:es?|ed) to\b|\b(?:twice|three times) as (?:fast|much)\b"),
        (1.6, r"\b(?:it|does|still) (?:does )?trains?\b(?! for)"),
        (2.2, r"\d ?(?:m?s|milliseconds?|sec(?:ond)?s?|min(?:ute)?s?|h|hours?) (?:a|per|each|for (?:a|one|each)) (?:batch|step|iteration|epoch|update|pass|round|micro-?batch)\b|\b(?:takes?|took|needs?|lasts?|is) (?:just |exactly |about |nearly |almost |still )?as long as\b|\b(?:steps?|iterations?|epochs?|batch|batches)\b[^.?!]{0,40}\b(?:no shorter|not (?:any )?shorter|does ?n[o']t get shorter)\b"),
        (2.4, r"\b(?:latenc\w+|time|steps?|iterations?|epochs?|duration)\b[^.?!]{0,30}\b(?:doubles?|doubled|triples?|tripled|quadruples?|quadrupled)\b|\b(?:time|times|epochs?|duration)\b[^.?!]{0,30}\b(?:did|does|do) ?n[o']t (?:go down|drop|shrink|fall|get shorter|change)\b|\b(?:hardly|barely|scarcely|not (?:any |much )?) ?(?:better|more) than (?:one|a single|with one|on one)\b|\b(?:stay(?:s|ed)?|remain(?:s|ed)?|is|are) (?:\w+ )?flat\b|\bfar below (?:what|the|that|expect)"),
        (2.2, r"\b\d+ ?(?:%|per ?cent) of (?:what|the (?:step|iteration|time)|each step|every step|expected|normal)\b|\b\d+ ?(?:%|per ?cent|x|times) (?:faster|quicker|slower)\b|\ba (?:sixth|seventh|eighth|ninth|twelfth|twentieth)\b|\bdominated by\b|\b(?:throughput|bandwidth|traffic|speed|rate|performance|busbw) (?:\w+ )?collapses\b|\b(?:utili[sz]ation|usage|load) (?:swings|jumps|alternates|oscillates)\b|\bdrags\b|\bneeds? (?:about |only |just )?\d+(?:\.\d+)? ?ms\b"),
        (2.2, r"\b(?:multi-?node|both|all|together|training|job|run|it|which|that|throughput|speed|cluster) (?:is |are |runs? |stays? |sits? |only |now |just )*at (?:about |around |only |just |roughly )?(?!100)\d{1,2} ?(?:%|per ?cent)|\b(?:total|sum|throughput|speed|rate|result)\b[^.?!]{0,20}\b(?:is|are|was) (?:\w+ )?(?:lower|smaller|less|worse) than\b|\d(?:\.\d+)? ?x instead of\b|\b(?:time|times|duration)\b[^.?!]{0,20}\b(?:rose|rises|grew|grows|went up|goes up|increased|increases|climbed) (?:from|to|by|with)\b|\b(?:hardly|barely|scarcely) (?:rises?|grows?|improves?|increases?|gains?)\b|\bsettles? at\b|\bno better than\b|\bmore time per (?:step|iteration|batch|epoch)\b"),
        (2.0, r"\bdrags?\b[^.?!]{0,40}\bdown\b|\bgpus? (?:sit|stay|hover|run|are)s? (?:at |around )?(?:between \d+ and )?(?!0 ?%|100 ?%)\d+ ?%|\b(?:is|are|was) (?:\d+ % |much |far )?faster (?:than|with|without|by default)\b|\bgaps? (?:of [^.?!]{1,30} )?between (?:the )?(?:kernels?|kernel launches|launches|steps)\b"),
        (2.6, r"\bnothing trains\b|\b(?:1\.[0-4]|0\.\d+) ?x of one\b|\beach (?:step|iteration) waits\b|\b\d+ ?mhz\b.{0,20}\b(?:others?|rest|peers)\b|\blos(?:es?|ing) (?:\w+ ){0,2}(?:\d+ ?%|per ?cent|percent|of (?:the|its|our) (?:speed|throughput|performance|time))|\b(?:per second|throughput|speed|rate|it/s|tokens?/s|images?/s|samples?/s|utili[sz]ation)\b[^.?!]{0,25}\b(?:hardly|barely|scarcely|not|n't) (?:move|increase|grow|improve|change|budge|go up)\w*"),
        (2.4, r"\d ?(?:m?s|sec\w*|min\w*|h|hours?|days?) (?:became|becomes?|turn(?:s|ed) into|instead of|rather than|to (?:over |about )?\d+(?:\.\d+)? ?(?:m?s|sec|min|h)\b)|\bstuck (?:at|around|below|on) (?:about |around |only |just |roughly |~)*\d|\b(?:sits?|stays?|hovers?|capped|plateaus?|tops? out|max(?:es)? out|limited) (?:at|around|below|to) (?:about |around |only |just |roughly |~)*\d+(?:\.\d+)? ?(?:%|per ?cent|w\b|watts?|[mg]hz|[mgt]i?b|gbit|it/s|tflops)"),
        (2.2, r"\butil\w*\b.{0,40}\b(?:mean|average|averages|about|around|only) \d+ ?%|\b(?:nearly|mostly|almost|largely|partly|often) idle\b|\bidle (?:most|half|much|a lot|for ages|\d+ ?%)|\b(?:utili[sz]ation|usage|load)\b[^.?!]{0,25}\b(?:low|poor|bad|around \d+|only \d+)\b|\bgpus? busy\b|\bpays? off\b|\bspeed-?ups? (?:is|was) gone\b"),
        (2.4, r"\b(?:does|is|are|do|runs?|performs?|scales?) (?:\w+ )?(?:worse|poorer|less well) than\b|\b(?:step|iteration)s?\b[^.?!]{0,20}\b(?:spends?|loses?|wastes?) (?:most|half|much|\d+ ?%|a third)\b"),
        (1.5, r"\badding (?:a |another |more |the )?(?:second )?(?:node|gpu|machine|server)s? (?:makes|slows|does|gives|brings)\b|\bmore gpus? (?:make|do|give|bring)\b|\bfaster on (?:one|a single)\b|\bfast on (?:one|a single)\b|\bfaster than (?:two|both|four|eight|multi)"),
    ),
    "jitter": (
        (3.4, r"\bsaw-? ?tooth\b|\b(?:anything|anywhere) (?:between|from) \d|\b(?:some|a few) (?:steps|iterations|batches)\b.{0,40}\b(?:times|longer|slower)\b.{0,20}\b(?:others|rest|normal|usual)"),
        (5.0, r"\bjitter\w*\b|\bstutter\w*\b|\bhiccups?\b"),
        (3.6, r"\bspik(?:e|es|y|ing)\b|\bfluctuat\w+|\boscillat\w+|\berratic\w*|\bsee-?saws?\b|\bup and down\b|\byo-?yo|\boutliers?\b|\bun(?:stable|even|steady|predictable)\b.{0,30}(?:step|iteration|throughput|speed|time|perf|latenc)|\b(?:step|iteration|throughput|speed|time|perf\w*|latenc\w+)\b.{0,30}\b(?:un(?:stable|even|steady|predictable)|inconsistent|irregular)\b|\binconsistent\b.{0,20}(?:speed|throughput|step|perf|time)"),
        (4.5, r"\b(?:almost all|nearly all|most|the majority of|many) (?:of the )?(?:steps?|iterations?|batches|its?)\b.{0,120}\b(?:but|except|some|every|each|then|now and then|occasional)|\b(?:but|yet|then) (?:about |roughly )?(?:(?:each|every) (?:few|couple|other|\d+|\w+th|so often|now and then)|one in|once in|now and then|some of them)\b"),
        (4.0, r"\bevery (?:few|couple of|so many|other(?! (?:day|week|run|time|job|night))|\d+(?:th|st|nd|rd)?|hundred(?:th)?|ten(?:th)?|fifty|thousand(?:th)?|so often|now and then|once in a while)\b(?: or so)?.{0,60}\b(?:slow|long|longer|paus\w+|stall\w*|spik\w+|waits?|takes?|needs?|freez\w+|stops? for|jumps?|dips?|drops? (?:to|by)|hangs? for)\b"),
        (3.0, r"\bvar(?:y|ies|ied|iation|iance|iable)\b.{0,40}\b(?:step|iteration|run|time|second|speed|throughput|node|lot|wildly|strongly|widely)|\b(?:step|iteration|run|speed|throughput|times?)\b.{0,30}\b(?:var(?:y|ies|iation|iance)|differs? from run|all over the place|jumps? (?:around|between|from))"),
        (3.0, r"\b(?:sometimes|now and then|occasional(?:ly)?|from time to time|intermittent(?:ly)?|sporadic(?:ally)?|once in a while|periodic(?:ally)?|every now and again|irregularly|at irregular|at random (?:steps|intervals))\b.{0,60}\b(?:slow|slower|slowly|\d ?(?:s|seconds?|ms|minutes?)|longer|long|pauses?|drops? to|dips?|stalls? for|lag)\b|\b(?:slow|pauses?|dips?|drops?|longer)\b.{0,30}\b(?:sometimes|now and then|occasionally|from time to time|intermittently|sporadically|at random)\b"),
        (3.0, r"\b(?:long|short|brief|random|regular|periodic|occasional) (?:pauses?|stalls?|gaps?|dips?|drops?|freezes)\b|\b(?:single|individual|some|random|few) (?:steps|iterations) (?:take|need|are|last)\b|\b(?:p99|p95|tail latenc\w+|standard deviation|std ?dev)\b"),
        (4.2, r"\b(?:hangs?|freez\w+|stalls?|stops?|blocks?)(?: \w+){0,2} for (?:a|one|two|some|several|half a|\d+(?: to \d+)?) (?:m?s|milli\w+|seconds?)\b(?![^.?!]{0,40}\b(?:then|and) (?:dies|crash\w*|fail\w*|time))|\b(?:one|a single|some|single) (?:step|iteration)s?\b[^.?!]{0,30}\b(?:late|takes? (?:\w+ )?\d|longer)\b|\b(?:drops?|dips?|spikes?) for (?:one|a single|a few|some) (?:steps?|iterations?)\b|\b(?:step|iteration) times?\b[^.?!]{0,30}\b(?:drifts?|wanders?|swings?|jumps?)\b"),
        (3.4, r"\b(?:twice|once|several times|a few times|\d+ times|now and then|every few minutes)(?: (?:an?|per) (?:hour|minute|day))?\b[^?!]{0,60}\b(?:double|twice|triple|longer|slow\w*|late)\b[^?!]{0,100}" + _RETURNS + r"|\b(?:variation|jitter|scatter|spread)\b[^.?!]{0,30}\b(?:is|was|are) (?:gone|smaller|there)\b|\b(?:curve|step time|throughput) (?:is|got|gets|was|became) (?:flat|steady|even|smooth)\b"),
        (3.2, r"\b(?:randomly|now and then|at regular (?:distances?|intervals?)|in regular (?:distances?|intervals?))\b[^.?!]{0,40}\b(?:one|some|a step|takes?|gaps?|pauses?|holes?|slow|terrible|bad)\b|\b(?:gaps?|pauses?|holes?|dips?|stops?)\b[^.?!]{0,30}\b(?:at|in) regular (?:distances?|intervals?)|\b(?:slow|terrible|bad|low|long)\b[^.?!]{0,25}\b(?:again and again|over and over)\b|\bmost of the time, (?:but |then |and )|\bthen (?:it is |it's |all is |everything is )?(?:fine|normal|fast|quick|good) again\b|\brhythm\b|\b(?:quick|fast|normal) (?:ones|steps|iterations)(?: \w+)?,? then (?:one|a slow|a long)\b|\b(?:iterations|steps) stretch\b|\bin (?:such|these|those|the) (?:a )?pauses?\b"),
        (3.0, r"\b(?:steps?|iterations?|step times?) (?:is|are|come|run) (?:very |rather |quite )?(?:uneven|irregular|unequal)\b|\b(?:fast|quick|normal|good) (?:steps|iterations|batches|ones)\b[^.?!]{0,20}\bthen\b[^?!]{0,80}\bthen\b"),
        (3.4, r"\bstretch(?:es)? of (?:\w+ ){0,2}(?:steps?|updates?|iterations?|batches)\b|\b(?:bad|slow|quiet|good|fast) (?:stretch|phase|period|spell)(?:es|s)?\b|\b(?:come|comes|coming|back|again|returns?|recur\w*|repeats?|happens?)\b[^.?!]{0,20}\bevery (?:about |roughly |around |~)?\d+ (?:to \d+ )?(?:steps|updates|iterations|min\w*|seconds)"),
        (3.8, r"\b(?:each|every) (?:save|checkpoint|eval\w*|validation)\b[^.?!]{0,50}\b(?:pauses?|stalls?|stands|stops for|waits)|\bgoes on, (?:stands|stops|stalls)\b|\b(?:slow\w*|stands?|stops?|pauses?|drops?|stalls?|freezes?)\b(?:(?!restart|reboot|kill|never|until i)[^?!]){0,110}" + _RETURNS),
    ),
    "question": (
        (1.8, r"\bwhat(?:'s| is| have i| have we| did i| do i| am i)\b[^.?!]{0,40}\b(?:wrong|broken|misconfigur\w+|missing|off)\b[^.?!]{0,40}\?|\btoo (?:low|high|slow|much|little)\b[^.?!]{0,40}\?|\bisn'?t it\?|\bright\?\s*$|\bor is (?:it|that|this|the)\b[^.?!]*\?|\bbug in [^.?!]{0,30},? or\b"),
        (1.8, r"\b(?:is|are|does|do|did|should|will|would)\b (?:i |my |our |the |nccl |every |each |a |we |this |that )[^.?!]{0,90}\b(?:wrong|broken|bad|hurt\w*|los(?:e|ing)|wast(?:e|ing)|damaged?|occupied|reboot|restart|stop it|eating|on the same data|gain nothing|hang or|die)\b[^.?!]{0,40}\?"),
        (1.8, r"\bloss (?:still )?(?:goes down|decreases|falls|converges|is (?:fine|falling|right|the same))|\bprints? (?:its|the|all) results?\b|\bexit code (?:is |was )?0\b|\b(?:run|job|example|test|training|it)s? (?:all )?(?:runs?|goes|went) through\b|\b(?:files|results?) (?:are|is|were) (?:all )?(?:complete|there|correct|right|ok)\b|\bspeed is (?:what|as|the same as)\b|\bwhich i expected\b|\bas expected\b"),
        (2.6, r"\bis (?:this|that|it|there|the|rank \d+|gpu \d+)\b[^.?!]{0,60}\b(?:bad|good|reasonable|typical|to be expected|normal|expected|ok|okay|fine|harmless|a problem|a concern|right|wrong|safe|intended|supposed|serious|dangerous|needed|necessary|possible)\b[^.?!]{0,40}\?"),
        (2.6, r"\b(?:is|are) [\"'“`‘][^\n]{3,160}[\"'”`’] (?:\w+ ){0,3}(?:bad|harmless|ok|okay|normal|expected|fine|wrong|serious|a problem|an error)\b"),
        (2.6, r"^\W*(?:is|are) (?:[^.?!]|\.\d){3,120}\b(?:normal|expected|ok|okay|enough|good|bad|reasonable|typical|fine|low|high)\b[^.?!]{0,30}\?"),
        (2.6, r"\b(?:should|do|must|need) (?:i|we) (?:be )?(?:worr\w+|concern\w+|care|ignore|lose|fix|bother|react|do anything)\b|\bharmless\b|\bsafe to ignore|\b(?:can|may|could) (?:i|we) ignore\b|\bworr(?:y|ied|ying) (?:about|me|us)\b|\bscar(?:y|es)\b"),
        (2.4, r"\bcan (?:it|this|that) be (?:better|improved|more|right|true|correct)\b|\bwhich of\b[^.?!]{0,60}\?|\bwhat (?:does|do|did) [^.?!]{0,70}\bmean\b|\bwhat is the meaning\b|\bmeaning of\b|\bwhich (?:one|of them|figure|number)\b[^.?!]{0,40}\b(?:true|right|correct|real)\b|\bsupposed to\b"),
        (2.0, r"\bwhat did (?:i|we) (?:install|do|set|configure|miss)\b[^.?!]{0,30}\?|\bdo (?:i|we) lose\b|\bwhy (?:does|do|is|are) [^.?!]{0,80}\b(?:print|show|report|say|log|warn|differ|different)|\bhow (?:do|can|should) (?:i|we) (?:launch|choose|read|interpret|measure|calculate|compute|check|verify|use|set up|configure)\b"),
        (1.6, r"\bwarnings?\b|\bmessages? (?:look|about|like|mean)|\bno plugin found|\bflood of\b|\blooks? (?:right|fine|good|correct|ok|normal)\b|\bresults? (?:are|is) (?:right|correct|fine)|\bfirst test of\b|\bjust (?:wondering|curious|asking|want to know)\b|\bcurious\b|\bwonder(?:ing)?\b|\bgeneral question|\bjust a question"),
        (2.0, r"\b(?:all|every|each) [^.?!]{0,40}\b(?:pass(?:es|ed)?|succeed(?:s|ed)?)\b|\b(?:prints?|shows?|says?|reports?) (?:passed|success|ok)\b|\b(?:trains?|runs?|finish(?:es)?|works?|goes|went) (?:on |through )?(?:without (?:any |an |a )?(?:errors?|trouble|problems?|complaints?)|as if nothing)|\b(?:every run|training|it) (?:ends|finishes) (?:normally|properly|well|cleanly)\b"),
        (2.0, r"\b(?:spec|data ?sheet|slides?|marketing|vendor|nvidia(?:'s)?|advertis\w+|brochure|documentation|docs)\b[^.?!]{0,30}\b(?:says?|promises?|claims?|names?|quotes?|lists?) (?:about |around |up to )?\d[^.?!]{0,80}(?:[.,] ?|and |so )(?:so )?(?:where|why)\b[^.?!]*\?|\bwhere (?:is|are|do|does|did) (?:the )?(?:other|rest|remaining|missing)\b[^.?!]*\?"),
        (1.8, r"\b(?:is|are|does|do|has)\b [^.?!]{3,90}\b(?:unreliable|defective|sick|useless|a bug|faulty|damaged|waiting for (?:us|me))\b[^.?!]*\?|\b(?:run|job|training|it) (?:ends|finishes|ended|finished) (?:as|with|in) (?:completed|success\w*|exit code 0)|\bcontinues normally\b|\bnothing (?:\w+ )?(?:hung|crashed|failed|broke)\b|\bmodel is (?:stored|saved|complete)\b|\b(?:seller|vendor|data ?sheet|spec\w*|nvidia|slides?)\b[^.?!]{0,20}\b(?:spoke|promis\w+|claim\w*|advertis\w+)\b"),
        (0.4, r"\?"),
    ),
}  # fmt: skip

_PAST = regex(
    r"\bafter (?:\w+ )?(?:weeks?|days?|months?|hours?) of (?:\w+ )?$|\b(?:used to|previously|earlier|before|formerly|no longer|last (?:week|month)|in the past|years? ago)(?: \w+){0,2}\s*$"
)
_ASIDE = regex(
    r"\b(?:instead|forcing|forced|with \w+ (?:debugging|logging)|debug(?:ging)? on|if (?:i|we)|when (?:i|we) (?:try|tried|force|forced|switch|switched|disable|disabled|enable|enabled|set)"
    r"|did not do this|never shows? it|was fine|is fine|are fine|fine with|goes through|also (?:tried|attempted))\b"
)  # fmt: skip
#: "with one process it is fine" sets off the trouble told beside it and is no aside.
_CONTRAST = regex(
    r"\b(?:with|on|for|using) (?:only |just )?(?:one|a single|1) (?:process|gpu|card|node|rank|worker|machine)\b.{0,30}\bfine\b"
)
_START = regex(
    r"\b(?:rendezvous|rdzv|at start|at start-?up|join(?:ing)?|master|store|connect\w*|init_process_group|before a single step|getting past|gets? past|first barrier)\b"
)
_AT_ONCE = regex(r"\b(?:right after|immediately|at once|straight away|right away|instantly|as soon as|right at)\b")
_ONE_QUESTION = regex(r"^\W*(?:is|are|does|do|should|what|which|can)\b(?:[^.?!]|\.\d)*\?\s*$")
_TIMEOUT = r"\b(?:times? out|timed out|timing out|timeouts?|time-outs?|gives? up|gave up)\b"

#: Least weight from which a text is taken to tell of a symptom at all.
ENOUGH = 1.4


def scores(text: str) -> dict[str, float]:
    """The weight of each symptom in a text."""
    return _scores(text)[0]


def _scores(text: str) -> tuple[dict[str, float], float]:
    """The weight of each symptom, and the strongest single cue of a trouble."""
    total: dict[str, float] = {}
    clearest = 0.0
    for name, cues in CUES.items():
        sum_, strongest = 0.0, 0.0
        for weight, pattern in cues:
            best = max(
                (_weight(text, m.start(), m.end(), weight, name) for m in regex(pattern).finditer(text)), default=0.0
            )
            strongest = max(strongest, best)
            sum_ += best
        total[name] = strongest + 0.4 * (sum_ - strongest)
        if name != "question":
            clearest = max(clearest, strongest)
    _timeouts(text, total)
    return total, clearest


def _weight(text: str, start: int, end: int, weight: float, name: str) -> float:
    if (
        name != "question"
        and not text[start:end]
        .lower()
        .startswith(("no ", "not ", "never", "n't", "nothing", "won", "can", "does", "is"))
        and negated(text, start)
    ):
        return 0.0
    if name != "question" and any(a <= start and end <= b for a, b in guess_spans(text)):
        return 0.0
    if _PAST.search(text[max(0, start - 40) : start]):
        return 0.0
    clause = clause_at(text, start)
    if name in ("crash", "hang") and _is_aside(clause, text[start:end], name):
        weight *= 0.45
    if name == "slow" and regex(
        r"\b(?:but|though|although) (?:that|this|it|then it) (?:is|runs|gets) (?:far |much |way |very )?(?:too )?slow"
    ).search(clause):
        weight *= 0.4
    if name in ("slow", "question") and regex(r"\b(?:slower|slow)\b.{0,20}\bthan usual\b").search(clause):
        weight *= 0.6
    return weight if start < 120 else weight * 0.9


def _is_aside(clause: str, cue: str, name: str) -> bool:
    """Whether the clause tells of a remedy or an experiment; "alone each is fine, together they hang" does not."""
    before, _, _ = clause.partition(cue)
    told = regex(r"\b(?:is|are|was|were) fine\b[^,]{0,30}, ").sub(", ", before) + clause[len(before) :]
    return _ASIDE.search(told) is not None and not (name == "hang" and _CONTRAST.search(clause))


def _dies(text: str) -> bool:
    """Whether a process is said to end, not only to print an error."""
    return any(
        _weight(text, m.start(), m.end(), 3.0, "crash") >= 2.0
        for _, p in CUES["crash"][:3]
        for m in regex(p).finditer(text)
    )


def _first(name: str, text: str) -> int:
    """Where the first strong cue of a symptom stands."""
    places = (
        m.start() for w, p in CUES[name] if w >= 2.6 for m in regex(p).finditer(text) if not negated(text, m.start())
    )
    return min(places, default=len(text))


def _timeouts(text: str, total: dict[str, float]) -> None:
    """A timeout is how a hang ends, but for a start-up that waits for others it is the failure itself."""
    if total["hang"] < 2.0:
        return
    if _dies(text) and _AT_ONCE.search(text):
        total["crash"] += 1.5
    if not regex(_TIMEOUT).search(text):
        return
    if _START.search(text) and regex(r"\brendezvous|\brdzv\b|\bgive up\b|\bgave up\b").search(text):
        total["crash"] += 2.0
    elif _first("hang", text) < _first("crash", text):
        total["hang"] = max(total["hang"], total["crash"]) + 1.0
    elif total["crash"] < total["hang"] + 1.5 and not regex(r"\b(?:crash|die[sd]?|abort|kill|exception)\w*\b").search(
        text
    ):
        total["hang"] += 1.0


def symptom_of(text: str) -> str | None:
    """The symptom that a text tells of, or None where it tells of none."""
    total, clearest = _scores(text)
    if total["question"] >= 2.5 and _ONE_QUESTION.match(text) and not _dies(text) and total["hang"] < ENOUGH:
        return "question"
    trouble = max(("crash", "hang", "jitter", "slow"), key=lambda s: total[s])
    if (
        total["question"] >= 3.0
        and trouble in ("crash", "slow")
        and total["question"] > total[trouble] - 1.5
        and not _dies(text)
        and total["slow"] < 2.5
    ):
        return "question"
    if total["question"] >= 1.6 and clearest < 2.2 and text.rstrip().endswith("?"):
        return "question"
    if total["question"] >= 2.0 and total["question"] > total[trouble] + (0.0 if trouble == "slow" else -0.4):
        return "question"
    if total[trouble] >= ENOUGH:
        return trouble
    return "question" if total["question"] >= 1.6 else None
