/// The words that people write for each other, by language.
///
/// A line is a group of words in which each stands for each other, but not for those of another group that has one of them
/// too: `st` is `saint` or `street`, and neither is the other. Words are in the form of ``Points/NormalizedText``, without
/// marks. With a hyphen before them they are endings of words: `-strasse -str`. With a question mark before them they may
/// also be left out of an address.
let equivalentWords = """
  any
  saint st sankt sint san santo sao sv szent swiety
  sainte ste santa sta sankta swieta
  mount mt monte mont
  fort ft
  doctor dr doktor docteur dott
  and und et y och og

  en
  street st str
  avenue ave av
  boulevard blvd boul
  road rd
  drive dr
  lane ln
  court ct
  place pl
  square sq
  terrace ter terr
  highway hwy
  parkway pkwy
  crescent cres
  circle cir
  close cl
  gardens gdns
  north n
  south s
  east e
  west w
  northeast ne
  northwest nw
  southeast se
  southwest sw
  professor prof
  building bldg
  station sta stn
  1 one
  2 two
  3 three
  4 four
  5 five
  6 six
  7 seven
  8 eight
  9 nine
  10 ten
  11 eleven
  12 twelve
  13 thirteen
  14 fourteen
  15 fifteen
  16 sixteen
  17 seventeen
  18 eighteen
  19 nineteen
  20 twenty
  1st first
  2nd second
  3rd third
  4th fourth
  5th fifth
  6th sixth
  7th seventh
  8th eighth
  9th ninth
  10th tenth

  de
  strasse str
  platz pl
  gasse g
  allee all
  -strasse -str
  -platz -pl
  -gasse -g
  -weg
  -allee -all
  bahnhof bhf
  hauptbahnhof hbf
  1 eins ein eine
  2 zwei
  3 drei
  4 vier
  5 funf fuenf
  6 sechs
  7 sieben
  8 acht
  9 neun
  10 zehn
  11 elf
  12 zwolf zwoelf
  13 dreizehn
  14 vierzehn
  15 funfzehn
  16 sechzehn
  17 siebzehn
  18 achtzehn
  19 neunzehn
  20 zwanzig

  nl
  straat str
  laan ln
  plein pln
  -straat -str
  -laan -ln
  -plein -pln
  -weg
  -gracht -gr
  -kade
  1 een
  2 twee
  3 drie
  4 vier
  5 vijf
  6 zes
  7 zeven
  8 acht
  9 negen
  10 tien
  11 elf
  12 twaalf
  20 twintig

  fr
  rue r
  avenue av ave
  boulevard bd boul blvd
  place pl
  allee all
  impasse imp
  chemin ch chem
  route rte
  square sq
  faubourg fbg fg
  quai q
  1 un une
  2 deux
  3 trois
  4 quatre
  5 cinq
  6 six
  7 sept
  8 huit
  9 neuf
  10 dix
  11 onze
  12 douze
  13 treize
  14 quatorze
  15 quinze
  16 seize
  20 vingt

  es
  calle c cl
  avenida avda av avd ave
  plaza pza plza pl
  paseo po pso
  carretera ctra crta
  camino cno
  1 uno un una
  2 dos
  3 tres
  4 cuatro
  5 cinco
  6 seis
  7 siete
  8 ocho
  9 nueve
  10 diez
  11 once
  12 doce
  13 trece
  14 catorce
  15 quince
  20 veinte

  pt
  rua r
  avenida av avda
  travessa tv trav
  praca pca pc
  estrada estr
  1 um uma
  2 dois duas
  3 tres
  4 quatro
  5 cinco
  6 seis
  7 sete
  8 oito
  9 nove
  10 dez
  11 onze
  12 doze
  20 vinte

  it
  via v
  viale vle
  piazza pza pzza
  corso cso
  largo lgo
  1 uno un una
  2 due
  3 tre
  4 quattro
  5 cinque
  6 sei
  7 sette
  8 otto
  9 nove
  10 dieci
  11 undici
  12 dodici
  20 venti

  pl
  ?ulica ?ul
  aleja al aleje
  plac pl
  osiedle os
  1 jeden
  2 dwa dwie
  3 trzy
  4 cztery
  5 piec
  6 szesc
  7 siedem
  8 osiem
  9 dziewiec
  10 dziesiec
  20 dwadziescia

  sv
  gatan g
  vagen v
  -gatan -g
  -vagen -v
  -grand -gr
  -torget
  1 ett en
  2 tva
  3 tre
  4 fyra
  5 fem
  6 sex
  7 sju
  8 atta
  9 nio
  10 tio
  11 elva
  12 tolv
  20 tjugo

  da
  -gade -gd
  -vej
  -gate -gt
  -veien -vn
  1 en et
  2 to
  3 tre
  4 fire
  5 fem
  6 seks
  7 syv sju
  8 otte atte
  9 ni
  10 ti
  20 tyve

  fi
  katu k
  tie t
  -katu -k
  -tie -t
  -kuja
  -polku
  1 yksi
  2 kaksi
  3 kolme
  4 nelja
  5 viisi
  6 kuusi
  7 seitseman
  8 kahdeksan
  9 yhdeksan
  10 kymmenen
  20 kaksikymmenta

  ru
  ?улица ?ул
  проспект пр прт просп
  переулок пер
  площадь пл
  бульвар бул бр
  шоссе ш
  набережная наб
  1 один
  2 два
  3 три
  4 четыре
  5 пять
  6 шесть
  7 семь
  8 восемь
  9 девять
  10 десять

  uk
  ?вулиця ?вул
  провулок пров
  площа пл

  el
  ?οδοσ
  λεωφοροσ λεωφ λ
  πλατεια πλ
  1 ενα
  2 δυο
  3 τρια
  4 τεσσερα
  5 πεντε
  6 εξι
  7 επτα
  8 οκτω
  9 εννια
  10 δεκα
  """
