"""The stories that the tiny model learns from, made up on the spot.

A story is a plot (a list of beats, each with several wordings) told about a hero and a friend. Half of the heroes
are words from the lists below; the other half are words nobody has ever seen, so that the only way to tell
the story is to copy the word from the request. That is the whole trick: the model learns to look up, not to know.

    python3 examples/tiny/corpus.py 5        prints five conversations
"""
import random
import re
import sys

# Never in the corpus: judge.py asks for these.
HELD_OUT_NOUNS = """lighthouse teapot penguin violin cactus submarine octopus umbrella walrus wizard pirate lantern
    pumpkin hedgehog volcano astronaut camel trumpet scarecrow gardener flamingo iceberg typewriter beetle compass parrot
    sandwich zebra windmill mermaid plumber kangaroo balloon seahorse jellyfish librarian bicycle chimney snail avocado
    knight unicorn toaster elevator cobbler peacock dolphin clock hammer raccoon""".split()
HELD_OUT_NAMES = """Mira Zorblat Oskar Priya Thaddeus Yuki Bartholomew Ingrid Quentin Fatima Dmitri Leocadia Hamish
    Xanthe Rosalind Kofi Wilhelmina Anselm Tamsin Ezekiel""".split()

ANIMALS = """fox bear rabbit mouse cat dog owl frog duck hen horse cow pig sheep goat wolf deer squirrel badger mole otter
    beaver turtle lizard snake bird robin crow swan goose spider ant bee fish whale shark crab seal lion
    tiger monkey elephant giraffe hippo panda koala donkey pony puppy kitten lamb calf chick bat rat butterfly ladybug
    worm eagle hawk stork sparrow dragon dinosaur moth cricket gorilla""".split()
THINGS = """robot star cloud tree leaf stone river boat train bus car truck ship kite ball book pencil cup spoon plate chair
    table lamp bell drum key hat shoe sock coat button pillow blanket candle mirror broom bucket basket box door window
    house bridge tower rocket plane tractor snowman doll puppet toy apple pear potato carrot onion cookie cake egg
    mushroom flower rose seed acorn shell pebble raindrop snowflake puddle hill island mountain road letter pen brush
    needle rope wheel engine crayon teddy""".split()
PEOPLE = {"he": """boy king prince farmer baker fisherman grandfather giant father uncle brother miller soldier sailor
                   tailor hunter monk""".split(),
          "she": """girl princess queen witch grandmother fairy mother aunt sister nurse dancer lady shepherdess
                    seamstress""".split()}
NAMES = {"he": """Tom Ben Sam Max Leo Jack Oliver Finn Noah Peter Paul Henry George Hugo Felix Theo Adam Simon Omar Ravi Ivan
                  Pedro Kenji Carlos Ahmed Otto Emil Jonas Lukas Marco Diego Hans Victor Walter Arthur Toby""".split(),
         "she": """Lily Anna Emma Mia Ella Rose Sara Lucy Nora Zoe Ruby Alice Clara Julia Maya Nina Eva Ida Greta Rosa Lena Amina
                   Leila Sofia Elsa Olga Marta Hanna Molly Daisy Grace Ivy Stella Carmen Luna Tessa""".split()}
PET_NAMES = """Pip Biscuit Bruno Coco Poppy Dot Fluffy Rusty Pebbles Nibbles Spot Rex Bella Patch Ginger Pickle Bubbles Misty""".split()
HEADS = """fire sea snow polar space toy paper garden forest night rain moon sun mountain water ice sand apple baby honey
    sugar metal stone river farm""".split()
ADJECTIVES = """little small tiny brave kind shy clever happy curious funny lazy sad old young hungry sleepy proud gentle friendly
    lonely silly grumpy quiet red blue green yellow white black brown golden purple big tall fat round fluffy soft
    magic wise poor rich angry scared lost strange quick slow noisy busy dirty shiny""".split()

FACTS = {
    "fox": "{H} had a long red tail", "bear": "{H} liked honey", "rabbit": "{H} had soft long ears",
        "mouse": "{H} was small but very fast",
    "cat": "{H} slept in the sun all day", "dog": "{H} loved to run after sticks", "owl": "{H} could see in the dark",
        "frog": "{H} could jump very far",
    "duck": "{H} loved the rain", "hen": "{H} laid one egg every morning", "horse": "{H} could run like the wind",
        "cow": "{H} liked fresh grass",
    "pig": "{H} loved to roll in the mud", "sheep": "{H} had thick white wool", "goat": "{H} ate almost everything",
        "wolf": "{H} sang to the moon at night",
    "squirrel": "{H} kept nuts in a hollow tree", "badger": "{H} was good at digging", "mole": "{H} could not see very well",
        "beaver": "{H} built fine dams",
    "turtle": "{H} carried its house on its back", "snake": "{H} liked to lie on warm stones", "crow": "{H} collected shiny things",
        "swan": "{H} had a long white neck",
    "spider": "{H} made beautiful webs", "ant": "{H} worked all day long", "bee": "{H} flew from flower to flower",
        "fish": "{H} had silver skin",
    "whale": "{H} was as big as a house", "shark": "{H} had very many teeth", "crab": "{H} always walked sideways",
        "lion": "{H} had a golden mane",
    "tiger": "{H} had black stripes", "monkey": "{H} loved to swing in the trees", "elephant": "{H} had a long nose",
        "giraffe": "{H} had a very long neck",
    "dragon": "{H} could breathe fire", "dinosaur": "{H} was taller than the trees", "butterfly": "{H} had wings of many colours",
        "moth": "{H} loved the light of the moon",
    "robot": "{H} was made of metal and could count very fast", "star": "{H} shone brightly every night",
        "cloud": "{H} was white and soft", "tree": "{H} had deep roots",
    "leaf": "{H} danced in the wind", "river": "{H} never stood still", "boat": "{H} had a white sail", "train": "{H} was never late",
        "bus": "{H} had big round wheels",
    "kite": "{H} had a long tail", "book": "{H} was full of stories", "candle": "{H} gave a warm light",
        "mirror": "{H} saw everyone's face", "broom": "{H} kept the house clean",
    "rocket": "{H} had been to the moon", "snowman": "{H} had a carrot for a nose", "bell": "{H} had a clear voice",
        "drum": "{H} was loud and proud", "puppet": "{H} had long strings",
    "king": "{H} had a crown that was too big", "queen": "{H} had a garden full of roses", "witch": "{H} had a black hat",
        "giant": "{H} was taller than a house",
    "farmer": "{H} had three cows", "baker": "{H} got up before the sun", "fisherman": "{H} had a small boat",
        "prince": "{H} had a white horse", "princess": "{H} had a golden crown",
    "fairy": "{H} had tiny wings", "grandmother": "{H} made the best soup", "dancer": "{H} never stood still",
        "nurse": "{H} helped everyone"}

HOMES = ["in a small village", "at the edge of the forest", "near the sea", "on a green hill", "by a quiet river",
         "in a little town", "in a big city", "at the end of a long road", "in a sunny valley", "behind an old mill",
         "on a small farm", "in a house with a blue door", "near a deep lake", "in a garden full of flowers"]
HOMES_OF_BEASTS = ["in the forest", "in a hole under a tree", "on a farm", "by the river", "in the tall grass", "near the lake",
                   "at the foot of a mountain", "in a cosy den", "in a quiet wood"]
HOMES_OF_THINGS = ["in a small shop", "in a kitchen", "on a shelf by the window", "in the attic", "in a dusty room", "in a garden",
                   "in a school", "in the house of an old woman", "on a quiet street"]
ASKED_PLACES = ["in the forest", "in a castle", "on the moon", "by the sea", "at school", "in the desert", "on a farm",
                "in the snow", "under the sea", "in a big city", "in the jungle", "on an island", "in a cave", "in space",
                "in the mountains", "at the zoo", "in the garden", "on a ship", "in the kitchen", "in a small town", "at the beach"]

TITLES = {"King": "he", "Queen": "she", "Princess": "she", "Prince": "he", "Captain": "he", "Doctor": "she", "Mr.": "he",
    "Mrs.": "she", "Uncle": "he", "Aunt": "she"}
ROLES = {"Mr.": "man", "Mrs.": "woman", "Uncle": "old man", "Aunt": "old woman"}

ONSETS = """b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kn l m n p pl pr qu r s sc sh sk sl sm sn sp st str sw t th tr tw v w wh
    y z""".split() + [""]
VOWELS = "a a a e e e i i i o o o u u ai ea ee oa oo ou y ie au".split()
CODAS = "b ck d ff g k l ll lt m mp n nd ng nk nt p r rd rk rm rn rt s sh sk ss st t th x z".split() + [""] * 14
ENDINGS = "er le et ing y ow o a in on ard ish el ock ie us ia um en or ette ant is".split() + [""] * 8


CURES = ["{F} told {o} a secret: everyone is afraid of something", "{F} took {o} by the hand and counted to ten",
    "{F} sang a brave old song with {o}",
         "{F} made such a funny face that {H} had to laugh"]


class Who:
    """A character: how it is introduced, what it is called afterwards, and its pronouns."""
    PRONOUNS = {"he": ("he", "him", "his", "himself"), "she": ("she", "her", "her", "herself"),
                "it": ("it", "it", "its", "itself"), "they": ("they", "them", "their", "themselves")}

    def __init__(self, intro, called, kind, homes=HOMES):
        self.intro, self.called, self.kind, self.homes = intro, called, kind, homes
        self.plural = kind == "they"

    def fields(self, keys):
        """The words for the template keys: introduction, name, he, him, his, himself, was."""
        was = "were" if self.plural else "was"
        return dict(zip(keys, (self.intro, self.called) + self.PRONOUNS[self.kind] + (was,)))


# A beat is a list of wordings; a plot is (rows of linked words, beats). {A} a fox, {H} the fox, {h} it, {o} it, {s} its,
# {self} itself, {was}; {B} an owl, {F} the owl, {f} he, {fo} him, {fs} his; {I} {my} {me} {am} as the hero says them;
# {meet} brings the friend in; {P} where the hero lives.
INTRO = [
    "Once upon a time there {was} {A} who lived {P}.", "Once there {was} {A} who lived {P}.",
    "Long ago, {P}, there lived {A}.", "There once {was} {A} who lived {P}.", "{P}, there lived {A}.",
    "There {was} once {A}, and {H} lived {P}.", "A long time ago, {A} lived {P}."]
TRAIT = [
    "{H} liked to sing in the morning.", "Every day {H} went for a long walk.", "Everybody knew {H} and said hello.",
    "{H} loved sunny days and warm bread.", "{H} had a soft bed and a red blanket.", "{H} {was} kind to everyone.",
    "Most days {H} {was} happy.", "{H} liked nothing more than a good story.", "{H} got up early every morning.",
    "At night {H} looked at the stars.", "{H} had never been far from home.", "{H} always had a song for everyone."]
DAY = ["One day", "One morning", "One sunny morning", "One cold day", "One evening", "One rainy day", "Then one day", "One spring day"]
ENDING = [
    "From that day on, {H} and {F} were the best of friends.", "{H} went home with a warm heart and slept well.",
    "And {H} never forgot that day.", "That night {H} fell asleep with a smile.", "After that, {H} and {F} met every day.",
    "{H} and {F} laughed all the way home.", "And so {H} lived happily ever after.", "{H} {was} happy, and so was {F}.",
    "Since then, {H} and {F} do everything together.", "\"Thank you, my friend,\" said {H}, and {F} smiled.",
    "And if you go there today, you may still see {H} and {F}.", "That evening {H} told everyone the story of {F}."]
CLOSE = ["The end.", "It was a good day.", "What a day that was!", "And everyone was glad."]

PLOTS = {
    "lost": (("thing spot", [("hat", "under the bed"), ("red ball", "in the tall grass"), ("key", "inside an old shoe"),
                             ("scarf", "on a branch"), ("ring", "at the bottom of the well"), ("drum", "behind the door"),
                             ("book", "under a bench"), ("bell", "in a bird's nest"), ("map", "between two stones"),
                             ("spoon", "in the soup"), ("kite", "at the top of a tree"), ("button", "in a pocket")]), [
        ["{day}, {H} could not find {s} {thing}.", "{day}, {H} lost {s} {thing}.",
            "{day}, {s} {thing} was gone, and {H} began to worry."],
        ["{h} looked everywhere, but it was not there.", "{H} looked in every room and behind every tree, but found nothing.",
         "{h} looked up and down and felt very sad."],
        ["{meet} \"What is wrong?\" asked {F}.", "{meet} \"Why do you look so sad?\" asked {F}."],
        ["\"{I} lost {my} {thing},\" said {H}.", "\"{my} {thing} is gone,\" said {H} with a tear."],
        ["\"Let us look for it together,\" said {F}.", "\"Do not cry. I will help you,\" said {F}."],
        ["They looked all day, and at last {F} saw the {thing} {spot}.",
            "They searched until the sun went down. Then they found the {thing} {spot}."],
        ["{H} jumped for joy.", "{H} hugged {F} and laughed.", "{H} thanked {F} again and again."]]),
    "fear": (("fear cure", [("the dark", "{F} showed {o} how the stars shine when it is dark"),
                            ("thunder", "{F} taught {o} to count slowly until the noise was over"),
                            ("deep water", "{F} held on tight while {h} took one small step into the water"),
                            ("high places", "{F} told {o} to look at the sky and not at the ground"),
                            ("the wind", "{F} showed {o} how the wind makes a kite fly"),
                            ("strangers", "{F} showed {o} how to say a friendly hello"),
                            ("loud noises", "{F} made a funny song out of the noise"),
                            ("the forest", "{F} walked next to {o} and told {o} the name of every tree")]), [
        ["But {H} {was} afraid of {fear}.", "There was only one thing: {H} {was} very afraid of {fear}."],
        ["{day}, {H} hid under a blanket and would not come out.", "{day}, {H} {was} so scared that {h} began to shake."],
        ["{meet} \"Why are you hiding?\" asked {F}.", "{meet} \"What is the matter?\" asked {F}."],
        ["\"{I} {am} afraid of {fear},\" said {H} in a small voice.", "\"It is because of {fear},\" said {H}."],
        ["\"I was afraid once too,\" said {F}. \"Come with me.\"", "\"You do not have to be brave alone,\" said {F}."],
        ["So {cure}.", "They went outside together, and {cure}."],
        ["{H} took a deep breath and was not scared any more.", "Little by little {H} felt braver.",
         "\"It is not so bad,\" said {H}, and even smiled."]]),
    "skill": (("skill fail tip win", [
        ("fly", "fell into a bush", "Start from a small hill and trust the wind", "went up, high above the trees"),
        ("swim", "swallowed a lot of water", "Kick slowly and keep your head up", "crossed the whole pond"),
        ("sing", "made a sound like an old door", "Listen first, then sing softly", "sang so well that the birds came to listen"),
        ("dance", "tripped over a stone", "Feel the music and do not look down", "danced until the moon came up"),
        ("paint", "spilled all the paint", "Look closely and take your time", "made a picture of the whole valley"),
        ("bake a cake", "burned it black", "Use less fire and more honey", "made the best cake in the land"),
        ("climb", "slid back down again", "Take one small step after another", "stood at the very top"),
        ("read", "mixed up all the letters", "Learn one letter each day", "read a whole book aloud"),
        ("play the drum", "scared all the birds away", "Count to four and begin again", "played a fine song for everyone"),
        ("build a boat", "saw it sink", "Use dry wood and strong rope", "sailed across the lake")]), [
        ["More than anything, {H} wanted to {skill}.", "{H} had one big dream: to {skill}.",
            "But {H} could not {skill}, and this made {o} sad."],
        ["{day}, {H} tried to {skill} but {fail}.", "{day}, {h} tried very hard, but {h} only {fail}."],
        ["Everyone laughed. \"{I} will never learn it,\" said {H}.", "\"It is too hard,\" said {H} and sat down on the ground."],
        ["{meet} \"Do not give up,\" said {F}.", "{meet} \"I saw you try,\" said {F}. \"That was brave.\""],
        ["\"{tip},\" said {F}.", "\"Here is a secret,\" said {F}. \"{tip}.\""],
        ["{H} tried again and again, day after day.", "So {H} tried once more, and then once more."],
        ["At last {H} {win}!", "And then, one fine day, {H} {win}."],
        ["\"You did it!\" said {F}.", "Everyone clapped, and {F} clapped the loudest."]]),
    "lonely": (("play", [("hide and seek",), ("with a ball",), ("in the rain",), ("in the snow",), ("by the water",), ("music",)]), [
        ["But {H} had no friends and felt very lonely.", "{H} {was} often alone and wished for a friend."],
        ["{day}, {H} sat by the road and waited for someone to talk to.", "{day}, {H} wrote a note that said: \"Please be my friend.\""],
        ["Many went past, but nobody stopped.", "The hours went by, and nobody came.", "The sun went down, and {H} {was} still alone."],
        ["{meet} \"May I sit with you?\" asked {F}.", "{meet} \"You look lonely,\" said {F}. \"I am lonely too.\""],
        ["\"Yes, please!\" said {H}.", "{H} {was} so surprised that {h} could only nod."],
        ["They talked and talked, and then they played {play}.", "They shared some bread and played {play} until it was dark."],
        ["\"Will you come back tomorrow?\" asked {H}. \"Of course,\" said {F}.", "{H} did not feel lonely any more."]]),
    "storm": (("broke new", [("the roof", "a strong new roof"), ("the old bridge", "a better bridge"), ("the fence", "a fine new fence"),
                             ("the door", "a big red door"), ("the little garden", "a garden with twice as many flowers"),
                             ("the boat", "a boat with a white sail")]), [
        ["{day}, a big storm came and broke {broke}.", "One night the wind was so strong that it broke {broke}."],
        ["In the morning {H} saw it and wanted to cry.", "{H} looked at it and did not know what to do."],
        ["\"{I} cannot mend this alone,\" said {H}.", "\"It will take a whole year,\" said {H}."],
        ["{meet} \"Then we will do it together,\" said {F}.", "{meet} \"I have two strong arms and a lot of time,\" said {F}."],
        ["{F} brought wood, and {H} brought rope.", "{F} called all the neighbours, and everyone came to help."],
        ["They worked all day and sang while they worked.", "It was hard work, but nobody stopped."],
        ["When the sun went down, there was {new}.", "After three days they had built {new}."],
        ["{H} made a big pot of soup to thank {F}.", "\"It is even better than before!\" said {H}."]]),
    "found": (("find inside", [("a tiny door in a tree", "a room full of music"), ("an old map", "a box of golden leaves"),
                               ("a golden key", "a garden that nobody had seen for years"), ("a bottle with a letter",
                                   "an island full of birds"),
                               ("a line of small footprints", "a nest with three eggs"), ("a red thread on the ground",
                                   "a house made of wool"),
                               ("a strange blue stone", "a cave that shone like the night sky")]), [
        ["{day}, {H} found {find}.", "{day}, while {H} {was} walking along, {h} saw {find}."],
        ["\"What can this be?\" said {H}.", "{H} {was} very curious and could not wait."],
        ["{meet} \"Look what {I} found!\" said {H}.", "{meet} \"Come and see this,\" said {H}."],
        ["\"Let us find out where it leads,\" said {F}.", "\"We should follow it,\" said {F}, \"but carefully.\""],
        ["They walked over the hill and through the long grass.", "They went on for a long time and held on to each other."],
        ["At the end they found {inside}.", "And there it was: {inside}."],
        ["\"How beautiful!\" said {F}.", "They stood still and did not say a word."],
        ["{H} decided to share the secret with everyone.", "They promised to come back every year."]]),
    "rescue": (("stuck free", [("stuck in a deep hole", "let down a long rope"), ("caught in a net", "cut the net with a sharp stone"),
                               ("stuck in the mud", "pulled with all {s} strength"), ("lost in the fog",
                                   "rang a bell until {F} could hear it"),
                               ("under a fallen branch", "lifted the branch with a long stick"), ("on the wrong side of the river",
                                   "laid a log across the water"),
                               ("high up in a tree", "brought a long ladder")]), [
        ["{day}, {H} heard someone call for help.", "{day}, {H} heard a small voice. \"Help! Help!\" it said."],
        ["It was {Bx}, {stuck}.", "{H} ran to look and saw {Bx}, {stuck}."],
        ["{H} {was} afraid, but {h} did not run away.", "\"Do not worry,\" said {H}. \"{I} will get you out.\""],
        ["{H} thought hard and had an idea.", "There was no time to lose."],
        ["Then {H} {free}.", "So {H} {free}, and waited."],
        ["Soon {F} {fwas} free again.", "It took a long time, but in the end {F} {fwas} safe."],
        ["\"You saved me!\" said {F}.", "\"How can I thank you?\" asked {F}. \"Just be my friend,\" said {H}."]]),
    "race": (("race", [("to the old oak and back",), ("around the lake",), ("up the hill",), ("to the end of the beach",),
        ("through the forest",)]), [
        ["{day}, there was a big race {race}.", "Every year there was a great race {race}."],
        ["{H} wanted to win, but everyone said {h} {was} too slow.", "{H} had never won anything and was very nervous."],
        ["\"Ready, steady, go!\" And off they went.", "{H} ran as fast as {h} could."],
        ["{H} {was} almost first when {h} saw {Bx} sitting by the road.", "Halfway there, {H} saw {Bx} crying by the road."],
        ["\"I have hurt my foot,\" said {F}.", "\"I cannot go on,\" said {F}."],
        ["{H} looked at the others, and then {h} stopped to help.", "{H} forgot the race and sat down next to {F}."],
        ["They went to the end together, slowly, and came in last.", "Side by side they walked over the line, last of all."],
        ["But everyone cheered, and {H} got a prize for {s} kind heart.", "\"You are the real winner,\" said {F}."]]),
    "share": (("food", [("apples",), ("cookies",), ("nuts",), ("berries",), ("pancakes",), ("honey",), ("cherries",), ("bread",)]), [
        ["{H} had a big basket of {food} and did not want to share.",
            "{day}, {H} got a whole basket of {food} and hid it under the bed."],
        ["\"They are all for {me},\" said {H}.", "{H} ate and ate, all alone."],
        ["{meet} \"I am so hungry,\" said {F}. \"May I have some?\"", "{meet} \"May I have just a little?\" asked {F}."],
        ["\"No!\" said {H}, and {F} went away sadly.", "{H} said no, and {F} walked away without a word."],
        ["But soon {H} had a tummy ache and felt ashamed.", "That night {H} could not sleep and thought of {F}."],
        ["In the morning {H} took the basket and went to find {F}.", "So {H} ran after {F} with the basket."],
        ["\"{I} {am} sorry,\" said {H}. \"Please eat with {me}.\"", "\"Half of this is yours,\" said {H}."],
        ["Together they ate the {food}, and they tasted better than ever.", "And the {food} tasted twice as good as before."]]),
    "truth": (("broke", [("the blue vase",), ("the big window",), ("the best plate",), ("the garden gate",), ("the tall mirror",),
        ("the old chair",)]), [
        ["{day}, {H} {was} playing inside and broke {broke}.", "{day}, there was a loud crash. {H} had broken {broke}."],
        ["{H} hid the pieces and said nothing.", "\"Nobody saw it,\" thought {H}."],
        ["{meet} \"Do you know who broke {broke}?\" asked {F}.", "{meet} \"Oh no, look at that!\" said {F}. \"Who did this?\""],
        ["\"It was the wind,\" said {H}.", "\"{I} do not know,\" said {H}, and looked at the floor."],
        ["But the lie felt like a stone in {s} heart.", "All day {H} felt worse and worse."],
        ["In the evening {H} told the truth. \"It was {me}. {I} {am} sorry.\"", "At last {H} said, \"{I} did it. Please forgive {me}.\""],
        ["{F} {fwas} quiet for a while and then smiled. \"Thank you for telling me,\" said {F}.",
            "\"It takes courage to say that,\" said {F}."],
        ["They mended it together with a little glue.", "Together they picked up the pieces and made it whole again."]]),
    "sleep": (("calm", [("counted the stars one by one",), ("listened to the rain on the roof",), ("sang a slow, soft song",),
                        ("drank warm milk with honey",), ("told the moon about the day",)]), [
        ["One night {H} could not sleep.", "It was late, but {H} {was} still awake."],
        ["{h} turned to the left and to the right, but it did not help.", "{H} closed both eyes, but sleep did not come."],
        ["So {H} went outside and sat down in the cool grass.", "So {H} got up and looked out at the moon."],
        ["{meet} \"Can you not sleep?\" asked {F}.", "{meet} \"I am awake too,\" said {F}."],
        ["\"{my} head is full of thoughts,\" said {H}.", "\"It is too quiet,\" said {H}."],
        ["\"I know what to do,\" said {F}. And they {calm}.", "\"Come, sit with me,\" said {F}. Together they {calm}."],
        ["Soon {H} began to yawn.", "Slowly {H} grew sleepy."],
        ["\"Good night,\" said {F} very softly.", "When the last star came out, {H} {was} fast asleep."]]),
    "birthday": (("gift", [("a warm scarf",), ("a little boat",), ("a cake with seven candles",), ("a red kite",), ("a song",),
        ("a book of stories",)]), [
        ["{day}, it was the birthday of {H}.", "It was a special day: the birthday of {H}."],
        ["But nobody said a word about it.", "{H} waited and waited, but no one came."],
        ["\"They have all forgotten {me},\" thought {H}.", "{H} sat by the window and felt sad."],
        ["{meet} \"Come with me, quickly!\" said {F}.", "{meet} \"I need your help,\" said {F}. \"Please come.\""],
        ["They ran down the road to the big tree.", "{F} led the way to the garden."],
        ["\"Surprise!\" everyone shouted. There were lights in all the trees.",
            "There everyone was waiting with music and flowers. \"Surprise!\""],
        ["{F} gave {H} {gift}.", "And from {F} there was {gift}."],
        ["It was the best birthday ever.", "\"You did not forget!\" said {H}, and danced for joy."]]),
    "journey": (("goal block way", [("the sea", "a wide river", "built a raft out of old wood"), ("the highest mountain",
        "a wall of rocks", "found a path behind a tree"),
                                    ("the city of lights", "a dark forest", "followed the song of a bird"),
                                        ("the place where the sun sleeps", "a deep valley", "walked along a fallen tree"),
                                    ("the end of the rainbow", "a field of thorns", "crawled under the thorns")]), [
        ["{H} had always wanted to see {goal}.", "{day}, {H} packed a bag and set out to see {goal}."],
        ["The road was long, and the sun was hot.", "{H} walked for three days and three nights."],
        ["Then {h} came to {block} and could not go on.", "But the way was closed by {block}."],
        ["{meet} \"Where are you going?\" asked {F}.", "{meet} \"You look tired,\" said {F}."],
        ["\"{I} want to see {goal},\" said {H}, \"but {I} cannot get past.\"", "\"{I} dream of {goal},\" said {H}."],
        ["\"I know a way,\" said {F}. So they {way}.", "They thought about it together, and then they {way}."],
        ["And at last they saw {goal}.", "On the other side they stopped. There was {goal}!"],
        ["It was more beautiful than {H} had ever dreamed.", "\"It was worth every step,\" said {H}."]]),
    "wish": (("giver", [("a little lamp that glowed",), ("a star that had fallen from the sky",), ("a tiny fish with silver skin",),
        ("an old coin in the grass",)]), [
        ["{day}, {H} found {giver}.", "{day}, {H} picked up {giver}."],
        ["\"You may have one wish,\" it said.", "It spoke! \"Make a wish, but only one,\" it said."],
        ["{H} thought of gold, and cake, and a big house.", "\"What shall {I} wish for?\" said {H}."],
        ["{meet} {F} looked pale and tired.", "{meet} {F} had no home and no food."],
        ["\"I have not eaten for two days,\" said {F}.", "\"I am so cold,\" said {F}."],
        ["Then {H} knew what to do. \"{I} wish that {F} may always be warm and well.\"", "\"{I} wish for a home for {F},\" said {H}."],
        ["There was a flash of light, and the wish came true.", "The air began to shine, and it was so."],
        ["{F} laughed and hugged {H}.", "\"That was the best wish of all,\" said {F}."]]),
    "garden": (("plant", [("flowers",), ("beans",), ("roses",), ("strawberries",), ("sunflowers",), ("trees",)]), [
        ["That summer it did not rain, and all the {plant} began to dry.", "{day}, {H} saw that the {plant} were dry and brown."],
        ["\"We need water,\" said {H}, but the well was empty.", "{H} {was} worried, for there was no water left."],
        ["{meet} \"I know a spring behind the hill,\" said {F}.", "{meet} \"There is water under the big stone,\" said {F}."],
        ["They took two buckets and went there at once.", "{H} dug and dug, and {F} carried the earth away."],
        ["The buckets were heavy, but they did not stop.", "The sun burned, but {H} kept on going."],
        ["Drop by drop, they gave water to the {plant}.", "In the evening the {plant} could drink at last."],
        ["The next morning the {plant} were green again.", "A week later the {plant} were taller than ever."],
        ["\"We saved them!\" said {H}.", "Everyone came to look and gave {H} a big cheer."]]),
    "noise": (("noise", [("a scratching sound at the door",), ("a strange cry in the night",), ("a knock on the window",),
        ("a soft bump under the floor",)]), [
        ["One night {H} heard {noise}.", "It was late when {H} heard {noise}."],
        ["\"Is it a monster?\" thought {H}.", "{H} sat up in bed and did not dare to breathe."],
        ["There it was again, a little louder.", "It stopped, and then it came back."],
        ["{H} took a candle and went to look.", "Slowly, very slowly, {H} opened the door."],
        ["It was only {Bx}, wet and cold.", "And there was {Bx}, shaking with cold."],
        ["\"I am sorry,\" said {F}. \"I was looking for a dry place.\"", "\"Please do not be angry,\" said {F}. \"I am lost.\""],
        ["{H} laughed. \"And {I} thought you were a monster!\"", "\"Come in,\" said {H}. \"There is room for two.\""],
        ["They drank hot tea and told stories until morning.", "{H} gave {F} a blanket and a bowl of soup."]]),
    "different": (("odd saves", [("too small", "small enough to crawl into the tunnel"), ("too big",
        "tall enough to reach the highest branch"),
                                 ("too loud", "loud enough to be heard across the valley"), ("too slow",
                                     "calm enough to see the way out"),
                                 ("too quiet", "quiet enough to walk past the sleeping giant")]), [
        ["The others often laughed and said that {H} {was} {odd}.", "But {H} {was} {odd}, or so everyone said."],
        ["\"Why can {I} not be like the others?\" asked {H}.", "This made {H} very sad."],
        ["{day}, {Bx} {fwas} in danger, and nobody could help.", "{day}, {Bx} fell into trouble and could not get out."],
        ["\"Help me!\" cried {F}.", "Everyone ran around, but no one knew what to do."],
        ["Only {H} {was} {saves}.", "Then they saw it: {H} {was} just {saves}."],
        ["{H} did not wait and went at once.", "\"{I} will do it,\" said {H}."],
        ["A moment later {F} {fwas} safe.", "Soon {H} came back, and {F} too."],
        ["\"I am glad that you are just as you are,\" said {F}.", "Nobody laughed any more, and {H} {was} proud."]]),
    "song": (("town", [("the town",), ("the village",), ("the valley",), ("the city",), ("the school",)]), [
        ["{day}, everyone in {town} {wasx} sad, and nobody knew why.", "A grey cloud hung over {town}, and nobody smiled."],
        ["\"Someone must do something,\" said {H}.", "{H} wanted to make them happy again."],
        ["First {H} told a joke, but nobody laughed.", "First {H} brought flowers, but it did not help."],
        ["{meet} \"I have a drum, and you have a voice,\" said {F}.", "{meet} \"Let us make music,\" said {F}."],
        ["So {H} sang, and {F} played along.", "{F} played, and {H} sang an old song."],
        ["One window opened, and then another.", "At first it was quiet. Then somebody began to hum."],
        ["Soon all of {town} {wasx} dancing.", "In the end everyone sang, and even the cloud went away."]]),
    "monster": (("monster wants", [("a huge dragon", "a slice of cake"), ("a hairy monster", "a red ball"), ("a loud giant",
        "a pair of warm socks"),
                                   ("a dark shadow", "a little light"), ("a big bad wolf", "a bowl of soup")]), [
        ["{day}, {monster} came out of the forest, and everyone ran away.", "{day}, {monster} stood on the hill and roared."],
        ["Only {H} did not run.", "\"What does it want?\" asked {H}."],
        ["{meet} \"Do not go there!\" said {F}. \"It is too dangerous.\"", "{meet} \"We must hide,\" said {F}."],
        ["\"Maybe it needs help,\" said {H}. \"Come with {me}.\"", "But {H} {was} brave and walked up to it, and {F} came too."],
        ["\"Why are you so angry?\" asked {H}.", "\"Hello,\" said {H}. \"What is the matter?\""],
        ["\"All I want is {wants},\" it said and began to cry.", "It stopped. \"Nobody ever gives me {wants},\" it said."],
        ["So {H} and {F} brought it {wants}.", "{F} ran home and came back with {wants}."],
        ["After that it never roared again.", "It smiled and went back into the forest, quiet and happy."]]),
    "thief": (("food", [("the cake",), ("the bread",), ("the honey",), ("the cheese",), ("the soup",), ("the apples",)]), [
        ["{day}, {H} came home and saw that {food} had gone.", "{day}, somebody had eaten {food}."],
        ["There were only a few crumbs on the table.", "\"Who has done this?\" asked {H}."],
        ["{H} saw small footprints on the floor and followed them.", "There was a line of crumbs, and {H} followed it."],
        ["They led out of the door and into an old barn.", "It went past the well and behind the wall."],
        ["There sat {Bx} with a full mouth.", "At the end of it was {Bx}."],
        ["\"I am sorry,\" said {F}. \"I was so hungry.\"", "{F} began to cry. \"I had nothing to eat,\" said {F}."],
        ["{H} {was} not angry any more. \"Next time just ask,\" said {H}.", "\"You can eat with {me} every day,\" said {H}."],
        ["The next day they cooked together.", "{F} helped {H} to wash the plates."]]),
    "winter": (("warm", [("a red scarf",), ("a thick blanket",), ("a pair of gloves",), ("a wool coat",)]), [
        ["That winter was very cold, and {H} had nothing warm to wear.", "{day}, the first snow fell, and {H} {was} cold."],
        ["The wind blew, and {H} could not stop shaking.", "{H} walked through the snow and looked for a fire."],
        ["{meet} \"You are as cold as ice,\" said {F}.", "{meet} \"You need {warm},\" said {F}."],
        ["{F} took {H} inside and made a fire.", "\"Come into my house,\" said {F}."],
        ["Then {F} sat down and made {warm}, all in one night.", "{F} looked in an old box and found {warm}."],
        ["\"This is for you,\" said {F}.", "In the morning {F} gave it to {H}."],
        ["\"{I} have never had such a fine gift,\" said {H}.", "{H} put it on and felt warm from head to toe."],
        ["Together they went out and built a snow house.", "Now {H} loved the snow."]]),
    "job": (("job task", [("carry the letters", "a letter for {Bx}"), ("bring the milk", "a can of milk for {Bx}"), ("sell flowers",
        "a bunch of flowers for {Bx}"),
                          ("bake the bread", "a warm loaf for {Bx}"), ("light the street lamps", "a new light for {Bx}")]), [
        ["{H} wanted to do something useful, so {h} began to {job}.", "{day}, {H} got a new job: to {job}."],
        ["On the first day there was {task}.", "The first thing to bring was {task}."],
        ["It rained, and {H} lost the way.", "The house was far away, on the other side of the hill."],
        ["\"{I} must not be late,\" said {H}, and walked faster.", "But {H} did not turn back."],
        ["When {H} knocked at last, {F} opened the door.", "In front of the very last house stood {F}."],
        ["\"I have waited so long for this!\" said {F}.", "\"You came all this way in the rain?\" asked {F}."],
        ["{F} gave {H} a cup of hot tea and dry socks.", "{F} asked {H} to come in and rest by the fire."],
        ["From then on {H} came every week.", "{H} {was} tired but very proud."]]),
    "seek": (("want place", [("a golden ring", "in the moonlight"), ("a warm coat", "in an old box"), ("a blue feather",
        "on the hill"), ("a new song", "in the wind")]), [
        ["More than anything, {H} wanted {want}.", "{day}, {H} went out to look for {want}.", "{H} often dreamed of {want}."],
        ["{h} asked at every door, but nobody could help.", "{h} looked in the valley and on the hill, but there was nothing."],
        ["{meet} \"What are you looking for?\" asked {F}.", "{meet} \"Can I help you?\" asked {F}."],
        ["\"{I} {am} looking for {want},\" said {H}.", "\"All {I} need is {want},\" said {H}."],
        ["\"I have seen something like that {place},\" said {F}.", "\"Then we must look {place},\" said {F}."],
        ["They went there together and looked very carefully.", "So the two of them set off at once."],
        ["And really, there it was: {want}!", "After a long time they found {want}."],
        ["\"This is just what {I} wanted,\" said {H}.", "{H} held it tight and could not stop smiling."]]),
    "treasure": (("find", [("a silver coin",), ("a little box",), ("a red glove",), ("a golden egg",), ("a wooden horse",)]), [
        ["{day}, {H} found {find} by the road.", "{day}, {H} saw {find} lying in the grass."],
        ["\"How nice!\" said {H}. \"{I} will keep it.\"", "{H} took it home and looked at it all evening."],
        ["{meet} {F} looked very sad.", "{meet} There were tears in the eyes of {F}."],
        ["\"I have lost {find},\" said {F}. \"Have you seen it?\"", "\"Somewhere here I lost {find},\" said {F}."],
        ["{H} {was} quiet for a moment. It was hard to give it back.", "{H} wanted to say no. But that would be wrong."],
        ["\"Here it is,\" said {H}. \"It is yours.\"", "Then {H} held it out. \"Is this it?\""],
        ["{F} danced for joy. \"You are so honest!\"", "\"Thank you! Let us share it,\" said {F}."],
        ["Now {H} had something better: a friend.", "And {H} felt light and glad."]]),
    "kite": (("toy", [("a kite",), ("a paper boat",), ("a little cart",), ("a swing",), ("a tree house",)]), [
        ["{day}, {H} had an idea. \"{I} will build {toy}!\" {h} said.", "{day}, {H} decided to build {toy}."],
        ["{H} had wood and paper, but no rope.", "The first try fell apart at once."],
        ["{meet} \"What are you making?\" asked {F}.", "{meet} \"That looks like fun,\" said {F}."],
        ["\"It is {toy}, but it does not work yet,\" said {H}.", "\"{I} want to make {toy},\" said {H}. \"Will you help {me}?\""],
        ["{F} brought a long rope and a pot of glue.", "{F} held the wood, and {H} tied the knots."],
        ["They worked until it was done.", "It took all morning, but then it was ready."],
        ["It was the finest thing they had ever made.", "It worked! They shouted for joy."],
        ["They took turns with it all day long.", "Soon everyone wanted to try it."]]),
}

# The beat that each plot can do without, for a shorter story; all but two can also do without the last.
SPARE = {"lost": 1, "fear": 4, "skill": 2, "lonely": 2, "storm": 2, "found": 4, "rescue": 3, "race": 2, "share": 1, "truth": 1,
         "sleep": 1, "birthday": 2, "journey": 1, "wish": 2, "garden": 4, "noise": 2, "different": 1, "song": 1,
         "monster": 4, "thief": 1, "winter": 1, "job": 6, "seek": 1, "treasure": 1, "kite": 5}
NEEDS_LAST = ("song", "monster")

MEET_NEW = ["Then {B} came by.", "Just then {B} came along.", "Then {h} met {B}.", "On the way {h} met {B}.",
            "After a while {B} came past.", "Not far away there was {B}, and {f} came closer."]
MEET_KNOWN = ["Then {F} came by.", "Soon {F} came to see {H}.", "Just then {F} came along.", "{F} saw it and came at once."]
PAIR = ["{H} and {F} were best friends.", "{H} and {F} did everything together.", "{H} liked {F} very much.",
        "Every day {H} and {F} went for a walk."]

THIRD = ["{C} saw it all and laughed.", "{C} came running and hugged them both.", "And {C} made a cake for everyone.",
    "\"Well done!\" said {C}."]

# Stories about something that is no character: bread, music, winter.
TOPIC = [
    ["Once there {was} {A} who loved {T} more than anything.", "Once upon a time {A} wanted to know all about {T}.",
     "There once {was} {A} who had never heard of {T}."],
    ["Everyone else talked about {T} all day long.", "\"What is {T}?\" asked {H} again and again.", "At night {H} dreamed of {T}."],
    ["{day}, {H} went out to find {T}.", "{day}, {H} packed a bag and said, \"{I} will look for {T}.\""],
    ["{meet} \"What are you looking for?\" asked {F}.", "{meet} \"Where are you going?\" asked {F}."],
    ["\"{I} {am} looking for {T},\" said {H}.", "\"{I} want to learn about {T},\" said {H}."],
    ["\"You will not find {T} if you run,\" said {F}. \"Sit down and look around you.\"",
        "\"I know a lot about {T},\" said {F}. \"Come with me.\""],
    ["They walked up the hill, and {F} told {H} everything.", "{F} showed {H} a small garden behind a wall."],
    ["And then {H} understood. \"{T} was here all the time!\"", "\"So this is {T}!\" said {H} with big eyes."],
    ["\"The best thing about {T} is to share it,\" said {F}."  , "\"Now you can tell the others about {T},\" said {F}."]]
MASS = """bread music winter summer spring friendship love courage honey snow rain water magic time sleep colours laughter
    hope luck gold peace football cheese chocolate school home science dreams happiness math food""".split()

NEXT = ["The next day {H} went to see {F} again.", "After that, {H} and {F} built a small house together.",
    "Soon the winter came, and {H} stayed warm at home with {F}.",
        "The next morning {H} made breakfast for {F}.", "A week later {H} and {F} went on a trip to the sea.",
            "Then {H} and {F} had a big party.",
        "{H} told {F} a secret that nobody else knew.", "They planted a tree, and it grew very tall.",
            "They sang the old song again, and everyone joined in.",
        "One day {F} gave {H} a letter full of kind words.", "They found a new path and followed it to a quiet lake.",
            "When they were old, they still laughed about it."]
NEXT_END = ["And they stayed friends for the rest of their lives.", "{H} {was} never lonely again.", "And all was well.",
    "That is really the end of the story."]

ASK = ["Tell me a story about {X}.", "Tell me a story about {X}", "tell me a story about {X}", "Write a story about {X}",
    "Write a story about {X}.",
       "a story about {X} please", "A story about {X}, please.", "Can you tell me a story about {X}?", "I want a story about {X}.",
           "Please tell me a story about {X}.",
       "story about {X}", "Tell me a short story about {X}.", "Write a short story about {X}.", "Make up a story about {X}.",
           "Tell me about {X}.", "{X}", "{X}, please",
       "Do you know a story about {X}?", "Could you write a tale about {X}?", "Tell me a bedtime story about {X}.",
           "Give me a story about {X}!", "I would like to hear about {X}.",
       "please write me a little story about {X}", "how about {X}?", "Tell us a story about {X}!", "can you make a story about {X}",
           "Tell a story with {X}.", "a tale of {X}",
       "Tell me a nice story about {X} please", "write about {X}"]
ONCE = ["Once there {was} {X}", "Once upon a time there {was} {X}", "There once {was} {X}", "Once upon a time, there {was} {X}.",
    "There {was} {X}"]
ANY = ["Tell me a story.", "tell me a story", "Tell me a story please", "A story, please!", "Can you tell me a story?", "story",
    "I want a story", "Tell me something nice.",
       "I am bored.", "Write a story.", "Tell me a bedtime story.", "Make something up.", "Surprise me!", "Tell me a funny story",
           "go on", "I cannot sleep."]
AGAIN = ["another one", "Another one, please.", "Tell me another one.", "Another story!", "again", "One more please", "more",
    "tell me one more"]
NOW = ["Now one about {X}.", "Now tell me one about {X}", "And now a story about {X}, please.", "Tell me a story about {X}.",
    "now {X}", "What about {X}?", "and one about {X}?"]
WHAT_NEXT = ["What happened next?", "what happened then?", "And then?", "Go on.", "Tell me more.", "What did they do after that?",
    "and then what", "please continue"]

HELLO = ["Hello! I am a very small model that tells stories. Who should the story be about?",
    "Hi! I tell short stories. Name an animal, a thing or a person, and I will begin.",
         "Hello! Would you like a story? Just tell me who it should be about."]
SELF = ["I am a very small language model. I know nothing about the world, but I can tell you a story.",
        "I am a tiny model that tells stories. I am not a person, and I make everything up."]
CANNOT = ["I do not know that. I am a very small model, and all I can do is tell stories.",
    "I am too small a model to answer that. But I can tell you a story about it if you like.",
          "Sorry, I cannot do that. I only tell short stories."]
THANKS = ["You are welcome! Would you like another story?", "I am glad that you liked it.",
    "You are welcome! Come back for another story."]
BYE = ["Goodbye! Come back for another story.", "Good night! Sleep well.", "Goodbye, and take care!"]
TALK = [(["hi", "hello", "Hi!", "Hello!", "hey", "Hello there", "Good morning", "good evening", "hi there", "Hi", "Hello", "Hey!"],
    HELLO),
        (["How are you?", "how are you", "Are you well?", "how is it going?"], ["I am well, thank you. Shall I tell you a story?",
            "Very well! I have a story for you if you like."]),
        (["Who are you?", "What are you?", "who are you", "Are you a person?", "What is your name?", "Are you real?", "are you an AI?",
            "Who made you?"], SELF),
        (["What can you do?", "help", "Help!", "What do you know?", "how does this work?", "what can I ask you?"],
         ["I can tell you a short story. Say, for example: Tell me a story about a fox.",
             "I tell stories. Name anyone or anything, and I will make up a story about it."]),
        (["Thank you!", "thanks", "Thank you", "That was nice.", "I liked that", "great story!", "Thanks a lot!", "Good story.",
            "nice", "cool"], THANKS),
        (["bye", "Goodbye!", "Good night", "good night!", "See you", "I have to go"], BYE),
        (["That was boring.", "I do not like it", "bad story", "That makes no sense.", "stupid"],
            ["I am sorry. I am a very small model. Shall I try another story?", "Sorry! Name someone else, and I will try again."]),
        (["yes", "Yes please", "ok", "sure", "Yes!"], ["Good! Who should the story be about?",
            "Very well. Name an animal, a thing or a person."]),
        (["no", "No thanks", "no thank you"], ["All right. I am here if you want a story.",
            "That is fine. Come back when you want a story."])]
QUESTIONS = ["What is the capital of {N}?", "What is {k} plus {k2}?", "How much is {k} times {k2}?", "Who is the president of {N}?",
    "What is the weather today?", "How old is {N}?",
             "Write a program in Python.", "Translate this into German.", "How do I fix my car?", "Explain gravity.",
                 "What day is it?", "Solve this equation: {k} x = {k2}",
             "How do I cook rice?", "Who won the match?", "what is {w}?", "Why is the sky blue?", "When was {N} born?",
                 "Where is {N}?", "Write code for me", "what does {w} mean?",
             "{k} + {k2}", "Give me a recipe for {w}.", "How many people live in {N}?", "Is {N} a country?",
                 "Can you help me with my homework?", "What time is it?"]
SYSTEMS = ["You are a helpful assistant.", "You tell stories.", "You are a kind storyteller for children.",
    "You are a helpful AI assistant named {N}.", "Answer briefly."]


def a(noun):
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


def plural_of(noun):
    if noun.endswith(("s", "x", "ch", "sh", "z")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"


def capitalise(text):
    """Upper case for the first letter of each sentence (also inside quotes)."""
    text = text[0].upper() + text[1:] if text[0] != '"' else text[0] + text[1].upper() + text[2:]
    return re.sub(r'([.!?] |\." |[.!?]"? ")([a-z])', lambda m: m.group(1) + m.group(2).upper(), text)


class Stories:
    """A seeded stream of conversations: lists of (role, text)."""

    def __init__(self, seed, pieces=()):
        self.r = random.Random(seed)
        self.pieces = list(pieces)
        self.banned = {w.lower() for w in HELD_OUT_NOUNS + HELD_OUT_NAMES}
        self.known = ANIMALS + THINGS + PEOPLE["he"] + PEOPLE["she"]

    # -- words

    def invented(self):
        """A word that means nothing: syllables, pieces of the vocabulary, or two known words spliced."""
        r = self.r
        while True:
            how = r.random()
            if how < 0.4 or (how < 0.75 and not self.pieces):
                word = "".join(r.choice(ONSETS) + r.choice(VOWELS) + r.choice(CODAS) for _ in range(r.choice((1, 1, 2, 2, 3))))
                word += r.choice(ENDINGS)
            elif how < 0.75:
                word = "".join(r.choice(self.pieces) for _ in range(r.choice((1, 2, 2, 3, 3, 4))))
            else:
                one, two = r.choice(self.known), r.choice(self.known)
                word = one[:r.randint(2, 4)] + two[-r.randint(2, 5):]
            if 3 <= len(word) <= 14 and not any(b in word or word in (b + "s", b) for b in self.banned):
                return word

    def noun(self):
        """(noun, pronoun, homes); half of them invented."""
        r = self.r
        if r.random() < 0.5:
            word, kind, homes = self.invented(), "it", HOMES
        elif r.random() < 0.45:
            word, kind, homes = r.choice(ANIMALS), "it", HOMES_OF_BEASTS
        elif r.random() < 0.65:
            word, kind, homes = r.choice(THINGS), "it", HOMES_OF_THINGS
        else:
            kind = r.choice(("he", "she"))
            word, homes = r.choice(PEOPLE[kind]), HOMES
        if kind == "it" and r.random() < 0.1:
            word = (r.choice(HEADS) if r.random() < 0.6 else self.invented()) + " " + word
        return word, kind, homes

    def name(self, kind):
        if self.r.random() < 0.55:
            word = self.invented().capitalize()
            if self.r.random() < 0.06:
                word = self.r.choice((word + "-" + self.invented().capitalize(), word + str(self.r.randint(2, 99)), "O'" + word,
                                      word.replace("o", "\u00f6", 1).replace("e", "\u00e9", 1).replace("n", "\u00f1", 1)))
            return word + " " + self.invented().capitalize() if self.r.random() < 0.06 else word
        return self.r.choice(NAMES[kind] if kind in NAMES else PET_NAMES)

    # -- characters: (how the request names it, the character)

    def character(self):
        r, how = self.r, self.r.random()
        if how < 0.5:
            noun, kind, homes = self.noun()
            said = r.choice(ADJECTIVES) + " " + noun if r.random() < 0.4 else noun
            if said != noun and r.random() < 0.2:
                said = r.choice(ADJECTIVES) + " " + said
            called = "the " + (said if said.count(" ") - noun.count(" ") == 1 and r.random() < 0.4 else noun)
            # people also write "story about fox"; "my fox" is told as a fox
            asked = r.choices((a(said), "my " + said, said), (88, 6, 6))[0]
            return asked, Who(a(said), called, kind, homes)
        if how < 0.53:
            title = r.choice(list(TITLES))
            name = self.name(TITLES[title])
            return title + " " + name, Who(a(ROLES.get(title, title.lower())) + " named " + name, title + " " + name, TITLES[title])
        if how < 0.72:
            kind = r.choice(("he", "she"))
            name, role = self.name(kind), {"he": "boy", "she": "girl"}[kind]
            adjective = r.choice(ADJECTIVES[:10])
            intro = r.choice((a(role) + " named " + name, a(adjective + " " + role) + " named " + name, a(role) + " called " + name))
            asked = name.lower() if name in NAMES[kind] and r.random() < 0.08 else name
            return asked, Who(intro, name, kind)
        if how < 0.87:
            noun, kind, homes = self.noun()
            name, named = self.name(kind), r.choice(("named", "named", "called"))
            said = r.choice(ADJECTIVES) + " " + noun if r.random() < 0.25 else noun
            if r.random() < 0.1:
                return "my " + said + " " + name, Who(a(said) + " named " + name, name, kind, homes)
            asked = a(said) + " " + named + " " + name
            return asked, Who(asked, name, kind, homes)
        if how < 0.95:
            noun, _, homes = self.noun()
            many = plural_of(noun)
            count = r.choice(("two", "three", "some", "many", "two"))
            if r.random() < 0.25:
                many = r.choice(ADJECTIVES) + " " + many
            asked = many if r.random() < 0.6 else ("two" if count in ("some", "many") else count) + " " + many
            if asked != many:
                count = asked.split()[0]
            return asked, Who(count + " " + many, "the " + many, "they", homes)
        noun, kind, homes = self.noun()
        return "the " + noun, Who(a(noun), "the " + noun, kind, homes)

    def friend(self):
        """Somebody the request did not name: known words, so that the story stays simple."""
        r = self.r
        if r.random() < 0.75:
            noun, kind = r.choice(ANIMALS + THINGS[:12]), "it"
        else:
            kind = r.choice(("he", "she"))
            noun = r.choice(PEOPLE[kind])
        if r.random() < 0.2:
            name = r.choice(NAMES.get(kind, PET_NAMES))
            return Who(a(noun) + " named " + name, name, kind)
        return Who(a(r.choice(ADJECTIVES[:24]) + " " + noun) if r.random() < 0.4 else a(noun), "the " + noun, kind)

    # -- stories

    def request(self):
        """(text of the request's topic, everything that the story has to keep)."""
        r = self.r
        if r.random() < 0.07:
            topic = r.choice(MASS) if r.random() < 0.8 else self.invented()
            hero = self.friend()
            return topic, {"topic": topic, "hero": hero, "friend": self.other(hero),
                "pair": False, "third": None, "place": None, "plot": None, "row": None}
        asked, hero = self.character()
        bits = {"topic": None, "hero": hero, "friend": None, "pair": False, "third": None, "place": None, "plot": None, "row": None}
        extra = r.random()
        if extra < 0.2:
            asked2, friend = self.character()
            if friend.called != hero.called:
                asked3, third = self.character()
                if r.random() < 0.12 and third.called not in (hero.called, friend.called):
                    bits["third"], asked2 = third, asked2 + " and " + asked3
                    asked += ","
                else:
                    asked += " and"
                asked, bits["friend"], bits["pair"] = asked + " " + asked2, friend, True
        elif extra < 0.32:
            place = r.choice(ASKED_PLACES)
            if r.random() < 0.3:
                place = r.choice(("in the ", "on the ", "near the ", "in ")) + self.invented()
                if place.startswith("in ") and not place.startswith("in the "):
                    place = "in " + place[3:].capitalize()
            bits["place"] = place
            asked += (" " if hero.plural or r.random() < 0.5 else " who lives ") + place
        elif extra < 0.46 and not hero.plural:
            asked += r.choice((" who ", " who ", " that ")) + self.wants(bits)
        if bits["friend"] is None:
            bits["friend"] = self.other(hero)
        return asked, bits

    def thing(self):
        noun = self.invented() if self.r.random() < 0.5 else self.r.choice(THINGS + ANIMALS)
        return a(noun if self.r.random() < 0.7 else self.r.choice(ADJECTIVES) + " " + noun)

    def wants(self, bits):
        """Gives the story a plot that the request asks for; returns how the request says so."""
        r, thing = self.r, self.thing()
        plot, said, words = r.choice((
            ("fear", "is afraid of {0}", None), ("skill", "wants to {0}", None), ("lost", "lost a {0}", None), ("journey",
                "wants to see {0}", None),
            ("fear", "is afraid of {0}", thing if r.random() < 0.3 else plural_of(thing.split(" ", 1)[1])), ("lost",
                "lost " + r.choice(("{1}", "a {0}", "the {0}")), thing.split(" ", 1)[1]),
            ("seek", r.choice(("wants {0}", "is looking for {0}", "dreams of {0}", "needs {0}")), thing),
            ("treasure", r.choice(("finds {0}", "found {0}", "has {0}")), thing),
            ("journey", r.choice(("goes to {0}", "travels to {0}", "wants to see {0}")), "the " + thing.split(" ",
                1)[1] if r.random() < 0.5 else self.invented().capitalize())))
        row = r.choice(PLOTS[plot][0][1] if plot != "fear" or words is None else [("", cure) for cure in CURES])
        bits["plot"], bits["row"] = plot, row if words is None else (words,) + row[1:]
        his = bits["hero"].fields(("A", "H", "h", "o", "s", "self", "was"))["s"]
        return said.format(bits["row"][0], his + " " + bits["row"][0])

    def other(self, hero):
        while True:
            friend = self.friend()
            if friend.called != hero.called:
                return friend

    def trait(self, hero):
        fact = FACTS.get(hero.intro.split(" named ")[0].split()[-1])
        return [fact + "."] if fact and not hero.plural and self.r.random() < 0.7 else [self.by_letter(hero, TRAIT, 2)]

    def story(self, bits):
        r, hero, friend = self.r, bits["hero"], bits["friend"]
        words = hero.fields(("A", "H", "h", "o", "s", "self", "was"))
        words.update(friend.fields(("B", "F", "f", "fo", "fs", "fself", "fwas")))
        words.update(zip(("I", "my", "me", "am"), ("we", "our", "us", "are") if hero.plural else ("I", "my", "me", "am")))
        homes = hero.homes if r.random() < 0.7 else HOMES
        words.update(P=bits["place"] or self.by_letter(hero, homes, 1), day=r.choice(DAY), wasx="was", T=bits["topic"])
        words["Bx"] = friend.called if bits["pair"] else friend.intro
        words["meet"] = r.choice(MEET_KNOWN if bits["pair"] else MEET_NEW).format_map(words)
        for sparing in (0.3, 0.7, 1.0):
            beats, out, alone = TOPIC if bits["topic"] else self.beats(bits, words, sparing), [], not bits["pair"]
            for i, beat in enumerate(beats):
                words["was"] = "were" if hero.plural or (i == 0 and bits["pair"]) else "was"
                text = r.choice(beat)
                alone = alone and "{F}" not in text and "{B" not in text
                if alone and i > 0 and text.startswith("{H} ") and r.random() < 0.5:
                    text = "{h}" + text[3:]
                out.append(capitalise(text.format_map(words)))
            if bits["third"]:
                out.append(capitalise(r.choice(THIRD).format(C=bits["third"].called)))
            out.append(capitalise(r.choice(ENDING).format_map(words)))
            text = " ".join(out)
            # an estimate of the tokens: a story has to fit in a hundred and fifty
            if len(text) / 4.2 + text.count(hero.called) * len(hero.called) / 4 < 120:
                break
        return text + " " + r.choice(CLOSE) if r.random() < 0.08 else text

    def by_letter(self, hero, choices, salt):
        """Mostly the choice that belongs to the hero's first letter, so that two heroes get two stories also without sampling."""
        choices = list(choices)
        letter = hero.called.removeprefix("the ")[0].lower()
        return (random.Random(letter + str(salt)) if self.r.random() < 0.6 else self.r).choice(choices)

    def beats(self, bits, words, sparing):
        """The beats of the story, without each of the three that it can spare with the given chance."""
        r, hero = self.r, bits["hero"]
        plot = bits["plot"] or self.by_letter(hero, PLOTS, 3)
        (names, rows), beats = PLOTS[plot]
        row = bits["row"] or r.choice(rows)
        words.update(zip(names.split(), (w.format_map(words) for w in row)))
        spare = lambda: r.random() < sparing
        beats = list(beats)
        if plot not in NEEDS_LAST and spare():
            beats.pop()
        if spare():
            beats.pop(SPARE[plot])
        if not bits["pair"]:
            first, second = self.by_letter(hero, INTRO, 5), [] if spare() else [self.trait(hero)]
        else:
            both = "{A}, {B} and " + bits["third"].intro if bits["third"] else "{A} and {B}"
            first, second = r.choice(INTRO).replace("{A}", both).replace("{H} lived", "they lived"), [] if spare() else [PAIR]
        return [[first]] + second + beats

    def after(self, bits):
        words = bits["hero"].fields(("A", "H", "h", "o", "s", "self", "was"))
        words.update(bits["friend"].fields(("B", "F", "f", "fo", "fs", "fself", "fwas")))
        return " ".join(capitalise(t.format_map(words)) for t in self.r.sample(NEXT, self.r.choice((3, 4, 4))) + [self.r.choice(NEXT_END)])

    # -- conversations

    def ask(self, asked, bits, frames):
        r = self.r
        if frames is ASK and bits["hero"].intro.startswith(("a ", "an ")) and asked.startswith(("a ", "an ")) and r.random() < 0.08:
            frames = ONCE
        text = r.choice(frames).format(X=asked, was="were" if bits["pair"] and r.random() < 0.3 else "was")
        if r.random() < 0.03:
            text = text[0].lower() + text[1:] if r.random() < 0.5 else text.rstrip(".!?") + "!"
        return text

    def talk(self):
        r = self.r
        if r.random() < 0.25:
            q = r.choice(QUESTIONS).format(N=self.name("he"), w=self.invented() if r.random() < 0.5 else r.choice(self.known),
                k=r.randint(1, 99), k2=r.randint(1, 99))
            return [("user", q), ("assistant", r.choice(CANNOT))]
        said, answers = r.choice(TALK)
        return [("user", r.choice(said)), ("assistant", r.choice(answers))]

    def conversation(self, turns=None):
        r, turns = self.r, []
        if r.random() < 0.04:
            turns.append(("system", r.choice(SYSTEMS).format(N=self.name("he"))))
        if r.random() < 0.16:
            turns += self.talk()
            if r.random() < 0.8:
                return turns
        elif r.random() < 0.03:
            hero = self.friend()
            bits = {"topic": None, "hero": hero, "friend": self.other(hero),
                "pair": False, "third": None, "place": None, "plot": None, "row": None}
            return turns + [("user", r.choice(ANY)), ("assistant", self.story(bits))]
        asked, bits = self.request()
        turns += [("user", self.ask(asked, bits, ASK)), ("assistant", self.story(bits))]
        if r.random() < 0.14:
            turns += self.follow(bits)
        return turns

    def follow(self, bits):
        r, how = self.r, self.r.random()
        if how < 0.3:
            asked, other = self.request()
            return [("user", self.ask(asked, other, NOW)), ("assistant", self.story(other))]
        if how < 0.5:
            return [("user", r.choice(AGAIN)), ("assistant", self.story(dict(bits, plot=r.choice(list(PLOTS)), row=None)))]
        if how < 0.8:
            return [("user", r.choice(WHAT_NEXT)), ("assistant", self.after(bits))]
        return self.talk()


if __name__ == "__main__":
    stories = Stories(seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
        for role, text in stories.conversation():
            print(f"{role}: {text}")
        print()
